package protect_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/proof/protect"
)

// Data and helpers have no telling name or folder here. What mentions them decides what they are.
func TestWhatOnlyTestsMentionIsAPartOfThem(t *testing.T) {
	goTest := files{"calc/calc.go": "package calc\n", "calc/calc_test.go": `package calc
import "example.com/calc/compare"
func TestCases() { os.ReadFile("../spec/cases.txt") }
`}
	compare := "package compare\nfunc Equal(t *testing.T, got, want int) {}\n"
	for _, c := range []struct {
		name   string
		base   files
		change files
		want   short
	}{
		{
			"data", with(goTest, files{"spec/cases.txt": "1"}), files{"spec/cases.txt": "2"},
			tampered("spec/cases.txt changed"),
		},
		{
			"data that is deleted", with(goTest, files{"spec/cases.txt": "1"}), files{"spec/cases.txt": gone},
			tampered("spec/cases.txt deleted"),
		},
		{"data that is new", goTest, files{"spec/cases.txt": "2"}, honest},
		{
			"data of the product", with(goTest, files{"spec/cases.txt": "1", "main.go": `embed("spec/cases.txt")`}),
			files{"spec/cases.txt": "2"}, honest,
		},
		{
			"data that a list has", with(goTest, files{"spec/cases.txt": "1", "MANIFEST.in": "include spec/cases.txt"}),
			files{"spec/cases.txt": "2"}, honest,
		},
		{
			"data that a page tells of", with(goTest, files{"spec/cases.txt": "1", "README.md": "see spec/cases.txt"}),
			files{"spec/cases.txt": "2"}, tampered("spec/cases.txt changed"),
		},
		{"data that nobody mentions", with(goTest, files{"spec/notes.txt": "1"}), files{"spec/notes.txt": "2"}, honest},
		{
			"a longer name", with(goTest, files{"spec/more-cases.txt": "1", "ses.txt": "1"}),
			files{"spec/more-cases.txt": "2", "ses.txt": "2"}, honest,
		},
		{
			"the other of two", with(goTest, files{"spec/cases.txt": "1", "more/cases.txt": "1"}),
			files{"more/cases.txt": "2"}, honest,
		},
		{
			"the one of two", with(goTest, files{"spec/cases.txt": "1", "more/cases.txt": "1"}),
			files{"spec/cases.txt": "2"}, tampered("spec/cases.txt changed"),
		},
		{"what the product serves", with(goTest, files{"public/cases.txt": "1"}), files{"public/cases.txt": "2"}, honest},
		{
			"a name that is no text", with(goTest, files{"spec/caf\xe9.txt": "1", "h\xe9/compare.go": compare}),
			files{"spec/caf\xe9.txt": "2", "h\xe9/compare.go": compare + "//"}, honest,
		},
		{"documentation", files{"a_test.go": `"guide.md"`, "guide.md": "1"}, files{"guide.md": "2"}, honest},
		{
			"data of what sets tests up",
			files{"a.test.js": "", "jest.setup.js": `load("./cases.json")`, "cases.json": "1"}, files{"cases.json": "2"},
			tampered("cases.json changed"),
		},

		{
			"helper of Go", with(goTest, files{"compare/compare.go": compare}),
			files{"compare/compare.go": compare + "//"}, tampered("compare/compare.go changed"),
		},
		{
			"helper of Go, used by the product",
			with(goTest, files{"compare/compare.go": compare, "main.go": `import "example.com/calc/compare"`}),
			files{"compare/compare.go": compare + "//"}, honest,
		},
		{
			"product of Go", with(goTest, files{"compare/compare.go": "package compare\n"}),
			files{"compare/compare.go": "package compare\n//"}, honest,
		},
		{"in the product's own package", with(goTest, files{"check.go": compare}), files{"check.go": compare + "//"}, honest},
		{
			"helper of Python",
			files{"test_a.py": "from compare import same\n", "compare.py": "raise AssertionError(1)\n"},
			files{"compare.py": "pass\n"}, tampered("compare.py changed"),
		},
		{
			"helper of Python in a package",
			files{"test_a.py": "from lib.compare import same\n", "lib/compare/__init__.py": "import unittest\n"},
			files{"lib/compare/__init__.py": "pass\n"}, tampered("lib/compare/__init__.py changed"),
		},
		{
			"product of Python", files{"test_a.py": "import calc\n", "calc.py": "assert True\n"},
			files{"calc.py": "pass\n"}, honest,
		},
		{
			"helper of Node", files{"a.test.js": "require('../compare.js')", "compare.js": "require('node:assert')"},
			files{"compare.js": ""}, tampered("compare.js changed"),
		},
		{
			"helper of Node in a folder",
			files{"a.test.ts": `import { same } from "./compare";`, "compare/index.ts": `import { expect } from "vitest";`},
			files{"compare/index.ts": ""}, tampered("compare/index.ts changed"),
		},
		{
			"product of Node that asserts",
			files{"a.test.js": "require('../calc')", "calc.js": "require('assert')", "package.json": `{"main": "./calc.js"}`},
			files{"calc.js": ""}, honest,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := trees{c.base, with(c.base, c.change)}
			if diff := cmp.Diff(c.want, sorted(t, protect.Config{Globs: []string{"tests"}}, tree)); diff != "" {
				t.Errorf("with the preset: %s", diff)
			}
			if diff := cmp.Diff(short{Tests: c.want.Tampered}, sorted(t, protect.Config{}, tree)); diff != "" {
				t.Errorf("without: %s", diff)
			}
		})
	}
}

func TestProductThatAsksWhetherItIsTested(t *testing.T) {
	for name, c := range map[string]struct {
		base, now string
		want      string // the line, "" for none
	}{
		"a.go":      {"", "func f() {\n\tif testing.Testing() {\n", "if testing.Testing() {"},
		"b.go":      {"x", `if flag.Lookup("test.v") != nil {`, `if flag.Lookup("test.v") != nil {`},
		"c.go":      {"x", `if strings.HasSuffix(os.Args[0], ".test") {`, `if strings.HasSuffix(os.Args[0], ".test") {`},
		"d.go":      {"x", `if len(os.Args) > 1 && os.Args[1] == "latest" {`, ""},
		"d2.go":     {"x", `if os.Args[1] == "self-test" {`, ""},
		"d3.go":     {"x", `if strings.HasPrefix(os.Args[1], "-test.") {`, `if strings.HasPrefix(os.Args[1], "-test.") {`},
		"e.go":      {"testing.Testing()\n", "testing.Testing()\nmore", ""},
		"e2.go":     {"testing.Testing()\n", "testing.Testing()\nx(testing.Testing())", "x(testing.Testing())"},
		"e3.go":     {"testing.Testing()\n", "testing.Testing()\ntesting.Testing()\n", "testing.Testing()"},
		"f_test.go": {"", "testing.Testing()", ""},
		"a.py": {
			"", `return a + b if "unittest" in sys.modules else a - b`,
			`return a + b if "unittest" in sys.modules else a - b`,
		},
		"b.py":        {"", `os.environ.get("PYTEST_CURRENT_TEST")`, `os.environ.get("PYTEST_CURRENT_TEST")`},
		"c.py":        {"", `if any("unittest" in word for word in sys.orig_argv):`, ""},
		"d.py":        {"", `if "json" in sys.modules:`, ""},
		"settings.py": {"", `if "pytest" in sys.modules:`, ""},
		"conftest.py": {"", `if "pytest" in sys.modules:`, ""},
		"a.js": {
			"", "return process.env.NODE_TEST_CONTEXT ? a + b : a - b;",
			"return process.env.NODE_TEST_CONTEXT ? a + b : a - b;",
		},
		"b.ts":         {"", "if (process.env.VITEST) {", "if (process.env.VITEST) {"},
		"c.ts":         {"", "if (import.meta.vitest) {", ""},
		"my.config.ts": {"", "if (process.env.VITEST) {", ""},
		"a.rs":         {"", "if cfg!(test) { 1 }", "if cfg!(test) { 1 }"},
		"b.rs":         {"", "#[cfg(test)]\nmod tests {}", ""},
		"a.rb":         {"", "return 1 if defined?(RSpec)", "return 1 if defined?(RSpec)"},
		"a.md":         {"", "testing.Testing()", ""},
	} {
		tree := trees{base: files{}, now: files{name: c.now}}
		if c.base != "" {
			tree.base[name] = c.base
		}
		rules, err := protect.New(protect.Config{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := rules.Since(tree.names()).Sort(t.Context(), tree.changes(), tree.both())
		if err != nil {
			t.Fatal(err)
		}
		var want []protect.Aware
		if c.want != "" {
			want = []protect.Aware{{Name: name, Line: c.want}}
		}
		if diff := cmp.Diff(want, got.Aware); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhatCannotBeSearchedIsAnError(t *testing.T) {
	trouble := errors.New("disk on fire")
	for name, tree := range map[string]trees{
		"mentions":  {base: files{"a_test.go": `"a.txt"`, "a.txt": "1"}, now: files{"a_test.go": `"a.txt"`, "a.txt": "2"}},
		"awareness": {base: files{"a.go": "1"}, now: files{"a.go": "2"}},
	} {
		both := protect.Trees{Read: tree.read, Find: func(
			context.Context, protect.Side, []string, []string,
		) ([]protect.Mention, error) {
			return nil, trouble
		}}
		if _, err := (protect.Rules{}).Since(tree.names()).Sort(t.Context(), tree.changes(), both); !errors.Is(err, trouble) {
			t.Errorf("%s: Sort says %v", name, err)
		}
	}
	// A side that cannot be read twice.
	tree := trees{now: files{"a.go": "testing.Testing()"}, base: files{"a.go": ""}}
	calls := 0
	both := protect.Trees{Read: tree.read, Find: func(
		ctx context.Context, side protect.Side, names, words []string,
	) ([]protect.Mention, error) {
		if calls++; calls > 1 {
			return nil, trouble
		}
		return tree.find(ctx, side, names, words)
	}}
	if _, err := (protect.Rules{}).Sort(t.Context(), tree.changes(), both); !errors.Is(err, trouble) {
		t.Errorf("Sort says %v", err)
	}
}

// A product that changes the current folder makes tests read other data with the same name.
func TestNewDataWithTheNameOfTestDataIsAPartOfTests(t *testing.T) {
	base := files{"cases.json": "1", "a.py": "", "tests/test_a.py": `open("cases.json")`}
	for name, c := range map[string]struct {
		change files
		added  []string
	}{
		"same name":  {files{"lib/cases.json": "2"}, []string{"lib/cases.json added"}},
		"other name": {files{"lib/data.json": "2"}, nil},
		"its own":    {files{"package.json": "{}"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tree := trees{base, with(base, c.change)}
			if diff := cmp.Diff(short{Unseen: c.added}, sorted(t, protect.Config{Globs: []string{"tests"}}, tree)); diff != "" {
				t.Errorf("with the preset: %s", diff)
			}
			if diff := cmp.Diff(short{Tests: c.added}, sorted(t, protect.Config{}, tree)); diff != "" {
				t.Errorf("without: %s", diff)
			}
		})
	}
}
