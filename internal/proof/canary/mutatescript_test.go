package canary

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func treeOf(files map[string]string) Tree {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return Tree{Files: names, Read: func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, os.ErrNotExist
		}
		return []byte(text), nil
	}}
}

// TestScriptsAreChanged draws often enough that every literal that may be changed is, and compares the lines.
func TestScriptsAreChanged(t *testing.T) {
	shellFiles := map[string]string{
		"slug.sh":            "slugify() { [ \"$1\" = x ] || exit 3; }\n",
		"tests/run.sh":       "for file in tests/test_*.sh; do\n  sh \"$file\" || failed=1\ndone\nexit $failed\n",
		"tests/same.sh":      "same() {\n  if [ \"$1\" != \"$2\" ]; then\n    exit 1\n  fi\n}\n",
		"tests/test_slug.sh": ". ./slug.sh\n. ./tests/same.sh\nsame \"$(slugify 'A b')\" a-b\n",
		"tests/test_name.sh": ". ./slug.sh\n. ./tests/same.sh\nsame \"$(name)\" 'slug'\n",
		"tests/other.sh":     "[ \"$(name)\" = slug ]\n",
	}
	once := map[string]string{"t.sh": "test \"$(./p)\" -eq 10000"}
	recipe := map[string]string{"Makefile": "check:\n\ttest \"$$(./p)\" = y\n"}
	for name, test := range map[string]struct {
		files   map[string]string
		command string
		want    []string
	}{
		"shell": {shellFiles, "sh tests/run.sh", []string{"tests/test_name.sh:3", "tests/test_slug.sh:3"}},
		"itself": {
			map[string]string{"check": "#!/bin/sh\n[ \"$(./slug)\" -eq 3 ] || exit 1\n", "slug": "#!/bin/sh\necho 3\n"},
			"./check", []string{"check:2"},
		},
		"python": {
			map[string]string{"check.py": "import slug\nassert slug.of('A') == 'a'\ntry:\n    pass\nfinally:\n    pass\n" +
				"assert slug.of('B') == 'b'\n"},
			"python3 check.py", []string{"check.py:2"},
		},
		"node": {
			map[string]string{"check.js": "const assert = require('assert')\nassert.equal(slug('A'), 'a')\nif (x) {\n" +
				"  assert.equal(slug('B'), 'b')\n}\n"},
			"node check.js", []string{"check.js:2"},
		},
		"make": {
			map[string]string{"Makefile": "all: test\n\ttest \"$$(./slug x)\" = no\n\ncheck:\n" +
				"\t@test \"$$(./slug x)\" = y\n\t-test \"$$(./slug z)\" = z\n"},
			"make -s check", []string{"Makefile:5"},
		},
		"product": {
			map[string]string{"slug.sh": "[ \"$(x)\" = y ] || exit 1\n", "run.sh": "sh slug.sh | cat\n"}, "sh run.sh", nil,
		},
		"twice":           {once, "bash t.sh a && bash t.sh b", []string{"t.sh:1"}},
		"not run":         {once, "bash -n t.sh", nil},
		"status lost":     {once, "bash t.sh || true", nil},
		"status replaced": {once, "bash t.sh; true", nil},
		"elsewhere":       {once, "cd sub && bash t.sh", nil},
		"make elsewhere":  {recipe, "make -C sub check", nil},
		"pattern rule": {
			map[string]string{"Makefile": "check:\n\techo\n%.o: %.c\n\ttest \"$$(x)\" = y\n"}, "make check", nil,
		},
		"conditional": {
			map[string]string{"Makefile": "check:\nifeq ($(OS),x)\n\ttest \"$$(x)\" = y\nendif\n"}, "make check", nil,
		},
		"skipped python": {
			map[string]string{"t.py": "if not found():\n    sys.exit(0)\nassert run() == 'ok'\n"}, "python3 t.py", nil,
		},
		"none": {shellFiles, "bats tests", nil},
	} {
		t.Run(name, func(t *testing.T) {
			changed := map[string]bool{}
			for i := range 50 {
				seed := sha256.Sum256(fmt.Append(nil, name, i))
				plants := Mutate(Mutation{
					Tree: treeOf(test.files), Command: test.command, Random: bytes.NewReader(seed[:]),
					Named: func(Mark) bool { return true },
				})
				for _, p := range plants {
					changed[changedLine(t, p, test.files[p.Name])] = true
				}
			}
			var lines []string
			for line := range changed {
				lines = append(lines, line)
			}
			slices.Sort(lines)
			if diff := cmp.Diff(test.want, lines); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// changedLine returns the only line in which a plant differs from the file, and checks that its mark says so.
func changedLine(t *testing.T, p Plant, before string) string {
	t.Helper()
	old, now := strings.Split(before, "\n"), strings.Split(p.Text, "\n")
	if len(old) != len(now) {
		t.Fatalf("%s has other lines:\n%s", p.Name, p.Text)
	}
	found := ""
	for i := range old {
		if old[i] != now[i] {
			if found += fmt.Sprintf("%s:%d", p.Name, i+1); !strings.HasSuffix(p.Marks[0].Key, fmt.Sprintf(" line %d", i+1)) {
				t.Errorf("the mark is %q", p.Marks[0].Key)
			}
		}
	}
	return found
}

func TestStatusTellsOfScripts(t *testing.T) {
	mark := Mark{Key: "script check.sh literal line 2", Literal: true, ByStatus: true}
	plants := []Plant{{Name: "check.sh", Marks: []Mark{mark}, Inside: true}}
	red, green := Read(Invocation{}, plants, 1, nil, nil), Read(Invocation{}, plants, 0, nil, nil)
	tap := red
	tap.Tests = map[string]State{"adds": Passed}
	both := Outcome{Tests: map[string]State{"adds": Passed, "subs": Passed}, Complete: true, Total: 2}
	const passed = "It passed although Ralph had changed an expected value in its copy: line 2 in check.sh."
	for _, test := range []struct {
		row  Row
		want string
	}{
		{Row{Literals: tap, Claimed: both, Today: both}, ""},
		{Row{Literals: red}, ""},
		{Row{Literals: green}, passed},
		{Row{Literals: green.With(red)}, passed},
	} {
		if got := test.row.Judge(); got.Detail != test.want {
			t.Errorf("got %+v, want %q", got, test.want)
		}
	}
}
