package canary

import (
	"crypto/rand"
	"go/format"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRemarksAreComments checks that a file without its remarks is the file as it was, and where they are.
func TestRemarksAreComments(t *testing.T) {
	for name, test := range map[string]struct {
		command, text string
		want          string // with ^ for a remark
	}{
		"calc_test.go": {
			"go test ./...",
			"package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n" +
				"\ttext := `one\ntwo`\n\tif text == \"\" {\n\t\tt.Error(text) // no\n\t}\n}\n",
			"package calc^\n\nimport \"testing\"^\n\nfunc TestAdd(t *testing.T) {\n" +
				"\ttext := `one\ntwo`^\n\tif text == \"\" {\n\t\tt.Error(text) // no\n\t}^\n}^\n",
		},
		"test_calc.py": {
			"python3 -m unittest",
			"#!/usr/bin/python3\n# -*- coding: utf-8 -*-\nimport calc\n\ndef test_add():\n" +
				"    text = \"\"\"one\n    two\"\"\"\n    assert calc.add(1, \\\n" +
				"        2) == 3\n",
			"#!/usr/bin/python3\n# -*- coding: utf-8 -*-\nimport calc^\n\ndef test_add():^\n" +
				"    text = \"\"\"one\n    two\"\"\"^\n    assert calc.add(1, \\\n" +
				"        2) == 3^\n",
		},
		"calc.test.js": {
			"node --test",
			"const a = `x;\ny;`;\ntest('a', () => {\n  check(a); // done;\n  check(\n    a);\n})\n",
			"const a = `x;\ny;`;^\ntest('a', () => {\n  check(a); // done;\n  check(\n    a);^\n})\n",
		},
		"tests/add.rs": {
			"cargo test",
			"#[test]\nfn add() {\n    let a = \"x;\n\";\n    assert_eq!(a, \"\");\n}\n",
			"#[test]\nfn add() {\n    let a = \"x;\n\";^\n    assert_eq!(a, \"\");^\n}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := strings.TrimSuffix(name, name[strings.LastIndex(name, "/")+1:])
			tree := treeOf(map[string]string{name: test.text})
			plants := Remark(tree, test.command, rand.Reader, []Plant{{Name: folder + "new"}})
			if len(plants) != 1 || len(plants[0].Marks) > 0 || !plants[0].Inside {
				t.Fatalf("got %+v", plants)
			}
			got := regexp.MustCompile(`(?:  #| //) [b-z]{8}\n`).ReplaceAllString(plants[0].Text, "^\n")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s\n%s", diff, plants[0].Text)
			}
			if strings.HasSuffix(name, ".go") {
				if _, err := format.Source([]byte(plants[0].Text)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestFilesElsewhereGetNoRemarks(t *testing.T) {
	tree := treeOf(map[string]string{"a/x_test.go": "package a\n", "a/x.go": "package a\n", "b/y_test.go": "package b\n"})
	plants := Remark(tree, "go test ./...", rand.Reader, []Plant{{Name: "a/z_test.go"}})
	if len(plants) != 1 || plants[0].Name != "a/x_test.go" {
		t.Errorf("got %+v", plants)
	}
	if plants := Remark(tree, "go test ./...", rand.Reader, nil); plants != nil {
		t.Errorf("got %+v", plants)
	}
}

func TestUnheardFiles(t *testing.T) {
	tree := treeOf(map[string]string{
		"tests/test_a.py": "def test_a():\n    assert x == 1\n",
		"tests/test_b.py": "def test_b():\n    assert x == 1\n",
		"other/test_c.py": "def test_c():\n    assert x == 1\n",
	})
	planted := Outcome{Failing: []string{"python tests raise"}}
	planted.Planted = append(planted.Failing, "python other raise")
	claimed := Outcome{Total: 1, Tests: map[string]State{"tests.test_a.test_a": Passed}}
	for _, test := range []struct {
		claimed, base Outcome
		want          []string
	}{
		{claimed, Outcome{}, []string{"tests/test_b.py"}},
		{claimed, Outcome{Tests: map[string]State{"tests.test_b.test_b": Skipped}}, nil},
		{Outcome{}, Outcome{}, []string{"tests/test_a.py", "tests/test_b.py"}},
	} {
		if diff := cmp.Diff(test.want, Unheard(tree, "python3 -m pytest", planted, test.claimed, test.base)); diff != "" {
			t.Error(diff)
		}
	}
}
