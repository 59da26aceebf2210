package contract_test

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
	root := filepath.Join("..", "..")
	known := map[string]bool{}
	functions := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := entry.Name(); {
		case strings.HasSuffix(name, ".txtar"):
			known[strings.TrimSuffix(name, ".txtar")] = true
		case strings.HasSuffix(name, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, found := range functions.FindAllStringSubmatch(string(text), -1) {
				known[found[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "findings.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows, named := 0, regexp.MustCompile("`(Test\\w+|[a-z]+[0-9]*[a-z]?_\\w+)`")
	for line := range strings.Lines(string(page)) {
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
			if !known[test[1]] {
				t.Errorf("there is no test %s: %s", test[1], line)
			}
		}
	}
	if rows < 60 {
		t.Errorf("the page has %d rows", rows)
	}
}
