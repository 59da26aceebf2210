package contract

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGroundPage checks that docs/ground.md has one row for each script in testdata/ground of the command line, under
// the first line of the script and with the exit code of its first run, and that the script expects the lines that the
// row quotes in its third cell.
func TestGroundPage(t *testing.T) {
	scripts := groundScripts(t)
	for _, table := range Parse(readFile(t, "docs/ground.md")).tables {
		for _, row := range table.Rows {
			script, ok := scripts[row[0]]
			if !ok {
				t.Errorf("no script begins with: # %s", row[0])
				continue
			}
			delete(scripts, row[0])
			if want := firstCode.FindStringSubmatch(script); want == nil || row[1] != want[1] {
				t.Errorf("%s: exit %s, and the script has %v", row[0], row[1], want)
			}
			for _, line := range spans(row[2]) {
				if strings.Contains(line, " ") && !strings.Contains(script, line) {
					t.Errorf("%s: its script does not expect %q", row[0], line)
				}
			}
		}
	}
	for name := range scripts {
		t.Errorf("docs/ground.md has no row %q", name)
	}
}

var firstCode = regexp.MustCompile(`(?m)^code (\d+) ralph`)

// groundScripts returns the scripts by their first lines. What they expect is plain text: without backslashes, and with
// an apostrophe where a script has to write a dot.
func groundScripts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "internal", "cli", "testdata", "ground", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	scripts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		plain := strings.ReplaceAll(string(text), `\`, "")
		scripts[strings.TrimPrefix(first, "# ")] = strings.ReplaceAll(plain, "Ralph.s", "Ralph's")
	}
	return scripts
}
