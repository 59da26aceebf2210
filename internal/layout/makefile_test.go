package layout

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Tests that make race skips must run without the race detector.
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
	if !strings.Contains(string(makefile), "\ntest:\n\t.ci/go-test plain -short -shuffle=on ./...\n") {
		t.Error("make test does not run every test without the race detector, so what make race skips is never run")
	}
	names := strings.Split(strings.TrimSuffix(find(`(?m)^SERIAL := \^Test\((.*)$`), ")"), "|")
	declared := regexp.MustCompile(`(?m)^func Test(\w+)`)
	found := map[string]bool{}
	err = filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, test := range declared.FindAllSubmatch(text, -1) {
			for _, name := range names {
				found[name] = found[name] || regexp.MustCompile("^"+name).Match(test[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !found[name] {
			t.Errorf("no test is called %s, which make race would skip", name)
		}
	}
}
