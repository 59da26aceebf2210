package contract

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that docs/findings.md names exists, and every row names one or says that it is open.
func TestFindingsNameTheirTests(t *testing.T) {
	known, page := testSources(t), readFile(t, "docs/findings.md")
	rows, named := 0, regexp.MustCompile("`(Test\\w+|[a-z]+[0-9]*[a-z]?_\\w+)`")
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 || cells[0] == "| finding" || strings.HasPrefix(cells[0], "| ---") {
			continue
		}
		rows++
		tests := named.FindAllStringSubmatch(cells[2], -1)
		if len(tests) == 0 && !strings.HasPrefix(cells[2], "*Open*") && !strings.HasPrefix(cells[2], "none: ") &&
			!strings.Contains(cells[2], "`profiles`") {
			t.Errorf("no test, and not open: %s", line)
		}
		for _, test := range tests {
			if known[test[1]] == "" {
				t.Errorf("there is no test %s: %s", test[1], line)
			}
		}
	}
	if rows < 60 {
		t.Errorf("the page has %d rows", rows)
	}
}

// testSources has the text of every script and of every Go test of the repository, by name.
func testSources(t *testing.T) map[string]string {
	t.Helper()
	sources := map[string]string{}
	functions := regexp.MustCompile(`(?ms)^func (Test\w+)\(.*?^}$`)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, script := strings.CutSuffix(entry.Name(), ".txtar")
		if err != nil || !script && !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if script {
			sources[name] = string(text)
		}
		for _, found := range functions.FindAllStringSubmatch(string(text), -1) {
			sources[found[1]] += found[0]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}
