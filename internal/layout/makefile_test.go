package layout

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Tests that make test skips with the race detector must run without it.
func TestSerialTestsRun(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	find := func(expression string) string {
		found := regexp.MustCompile(expression).FindSubmatch(makefile)
		if found == nil {
			t.Fatalf("the Makefile has no %s", expression)
		}
		return string(found[1])
	}
	serial := regexp.MustCompile(find(`(?m)^SERIAL := (.*)$`))
	packages := strings.Fields(find(`-run '\$\(SERIAL\)' (.*)`))
	declared := regexp.MustCompile(`(?m)^func (Test\w+)`)
	ran := map[string]bool{}
	err = filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		folder := strings.Replace(filepath.ToSlash(filepath.Dir(path)), "../..", ".", 1)
		for _, test := range declared.FindAllSubmatch(text, -1) {
			if serial.Match(test[1]) {
				ran[folder] = true
				if !slices.Contains(packages, folder) {
					t.Errorf("%s of %s is skipped, and not run without the race detector", test[1], folder)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(ran) != len(packages) {
		t.Errorf("there are serial tests in %v, and %v are run", ran, packages)
	}
}
