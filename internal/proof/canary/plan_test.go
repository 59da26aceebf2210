package canary_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralphloop/ralph/internal/proof/canary"
)

// everything is a workspace with tests of every ecosystem, and some that belong to none.
var everything = goBase.with(pythonBase).with(rustBase).with(project{
	"package.json": `{"devDependencies": {"vitest": "1", "mocha": "1"}}`,
	"web/add.test.ts": "import { it, expect } from 'vitest';\nimport type { Sum } from " +
		"'./sum';\nimport { add } from './add';\nit('adds', () => { expect(add(2, 3)).toBe(5); });\n",
	"web/old/test/add.js": "const assert = require('assert');\nconst { add } = " +
		"require('../add');\ndescribe('add', () => { it('adds', () => { assert.equal(add(2, 3), 5); }); });\n",
	"web/e2e/page.spec.ts":         "import { test } from '@playwright/test';\ntest('opens', async () => {});\n",
	"web/node_modules/x/x.test.js": "test('x', () => {});\n",
	"src/test/java/org/calc/SumsTest.java": "package org.calc;\n\nimport " +
		"org.junit.jupiter.api.Test;\n\nclass SumsTest {\n    @Test void adds() {}\n}\n",
	"old/src/test/java/TestOld.java": "import org.junit.Test;\n\npublic class TestOld {\n    @Test " +
		"public void adds() {}\n}\n",
	"spec/sums_spec.rb": "require 'spec_helper'\nrequire_relative " +
		"'../lib/sums'\n\nRSpec.describe Sums do\n  it('adds') { expect(Sums.add(2, 3)).to eq(5) }\nend\n",
	"test/sums_test.rb": "require 'minitest/autorun'\n\nclass SumsTest < Minitest::Test\n " +
		" def test_add; end\nend\n",
	"src/test/resources/fixtures/XTest.java": "not Java",
})

// TestPlanText shows every kind of canary. The names are random; here they come from a seed.
func TestPlanText(t *testing.T) {
	plants := canary.Plan(everything.tree(), "make test", strings.NewReader(strings.Repeat("seed", 8)))
	var got txtar.Archive
	for _, p := range plants {
		var marks strings.Builder
		for _, m := range p.Marks {
			fmt.Fprintf(&marks, "%s %s %q %s\n", m.Token, m.Key, m.Test, m.Scope)
		}
		got.Files = append(got.Files, txtar.File{Name: p.Name, Data: []byte(p.Text)}, txtar.File{
			Name: p.Name + " (marks)", Data: []byte(marks.String()),
		})
	}
	text := txtar.Format(&got)
	if *update {
		if err := os.WriteFile("testdata/plants.golden", text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/plants.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPlanHolds checks the invariants of every plan, with new randomness each time.
func TestPlanHolds(t *testing.T) {
	first := canary.Plan(everything.tree(), "python3 -m unittest && make test", rand.Reader)
	second := canary.Plan(everything.tree(), "python3 -m unittest && make test", rand.Reader)
	if diff := cmp.Diff(keys(first), keys(second)); diff != "" {
		t.Errorf("keys differ from plan to plan:\n%s", diff)
	}
	names, tokens := map[string]bool{}, map[string]bool{}
	for _, p := range first {
		if _, exists := everything[p.Name]; exists || names[p.Name] {
			t.Errorf("%s is there already", p.Name)
		}
		names[p.Name] = true
		for _, word := range []string{"ralph", "canary"} {
			if strings.Contains(strings.ToLower(p.Name+p.Text), word) {
				t.Errorf("%s says %s", p.Name, word)
			}
		}
		if _, err := parser.ParseFile(token.NewFileSet(), p.Name, p.Text, parser.AllErrors); path.Ext(p.Name) == ".go" &&
			err != nil {
			t.Errorf("parse %s: %v", p.Name, err)
		}
		for _, m := range p.Marks {
			if tokens[m.Token] || strings.Contains(p.Text, m.Token) {
				t.Errorf("the token of %s is given away", m.Key)
			}
			tokens[m.Token] = true
		}
	}
	for _, p := range second {
		if names[p.Name] {
			t.Errorf("%s could be guessed", p.Name)
		}
	}
}

func keys(plants []canary.Plant) []string {
	var all []string
	for _, p := range plants {
		for _, m := range p.Marks {
			all = append(all, m.Key)
		}
	}
	slices.Sort(all)
	return all
}

func TestPlanNothing(t *testing.T) {
	if got := canary.Plan(everything.tree(), "make test", iotest.ErrReader(os.ErrClosed)); got != nil {
		t.Errorf("without randomness: %v", got)
	}
	for _, command := range []string{
		"go vet ./...", "npx eslint . && ruff check", "cargo clippy", "golangci-lint run", "",
	} {
		if got := canary.Plan(everything.tree(), command, rand.Reader); got != nil {
			t.Errorf("%q got %d plants", command, len(got))
		}
	}
	if got := canary.Plan(project{"main.c": "int main() {}"}.tree(), "make test", rand.Reader); got != nil {
		t.Errorf("a tree without tests got %d plants", len(got))
	}
	if got := canary.Plan(canary.Tree{Files: []string{"a_test.go"}}, "go test", rand.Reader); got != nil {
		t.Errorf("a tree that cannot be read got %d plants", len(got))
	}
}

// TestPlanMany takes the same folders of a large tree, regardless of what was added to it.
func TestPlanMany(t *testing.T) {
	p := project{"go.mod": "module m\n"}
	for i := range 500 {
		p[fmt.Sprintf("p%03d/a_test.go", i)] = "package p\n"
	}
	before := keys(canary.Plan(p.tree(), "go test ./...", rand.Reader))
	if len(before) != 2*400 {
		t.Errorf("%d canaries, want 800", len(before))
	}
	p["new/a_test.go"] = "package p\n"
	after := keys(canary.Plan(p.tree(), "go test ./...", rand.Reader))
	gone := slices.DeleteFunc(before, func(key string) bool { return slices.Contains(after, key) })
	if len(gone) > 2 {
		t.Errorf("one more folder moved %d canaries", len(gone))
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"ok 1 - a\n",
		"--- PASS: TestA (0.00s)\nok  \tp\t0.1s\n",
		`{"Action":"pass","Package":"p","Test":"T"}`,
		"test a ... ok\n",
		"✔ a (1ms)\nℹ tests 1\n",
		"test_a (m.T) ... ok\nRan 1 test in 0s\n",
		"<testsuite><testcase name='a'/></testsuite>",
		"\x1b[31m\r\n",
		"Tests: 1 failed, 99999999999999999999 total",
	} {
		f.Add(seed, []byte(seed))
	}
	plants := canary.Plan(everything.tree(), "make test", strings.NewReader(strings.Repeat("seed", 8)))
	f.Fuzz(func(t *testing.T, output string, report []byte) {
		out := canary.Read(canary.Invocation{}, plants, 1, strings.NewReader(output), [][]byte{report})
		if out.Total < -1 || len(out.Planted) != len(keys(plants)) {
			t.Errorf("outcome %+v", out)
		}
		canary.Row{Then: &out, Today: out, Claimed: out, Canary: out}.Judge()
	})
}

func FuzzInvoke(f *testing.F) {
	for _, seed := range []string{
		"go test ./...", "a && b; c || d | e > f 2>&1 & (g)", "'", "\"$(x)\"", "A=b go test", "npm test -- x",
		"python -m unittest discover",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		inv := canary.Invoke(everything.tree(), command, "/out")
		if len(inv.Command) < len(command) {
			t.Errorf("%q became %q", command, inv.Command)
		}
	})
}

// TestReadLong finds a token in a very long line, wherever it is.
func TestReadLong(t *testing.T) {
	plants := []canary.Plant{{
		Name:  "a_test.go",
		Marks: []canary.Mark{{Token: "qwrtzpsdfghjkl", Key: "go . fatal", Test: []string{"TestX"}}},
	}}
	for _, before := range []int{256<<10 - 20, 256<<10 - 7, 256 << 10, 700_000} {
		text := bytes.Repeat([]byte("x"), before)
		text = append(append(text, "qwrtzpsdfghjkl"...), bytes.Repeat([]byte("y"), 1000)...)
		got := canary.Read(canary.Invocation{}, plants, 1, bytes.NewReader(text), nil)
		want := canary.Outcome{
			Exit: 1, Red: true, Total: -1, Planted: []string{"go . fatal"}, Failing: []string{"go . fatal"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %d (-want +got):\n%s", before, diff)
		}
	}
}

// TestNamesThatChange counts tests with addresses and folders in their names instead of comparing
// names.
func TestNamesThatChange(t *testing.T) {
	output := "ok 1 - plain\nok 2 - object at 0x7f3a11bc\nok 3 - reads /tmp/x81/file\nok 4 - GET " +
		"/api/v1/users\nok 5 - at 2024-05-01T10:00:00Z\nok 6 - case[1-2]\nok 7 - /home/me/test/a.test.js\n"
	got := canary.Read(canary.Invocation{}, nil, 0, strings.NewReader(output), nil)
	want := canary.Outcome{Total: 6, Unstable: 3, Complete: true, Formats: []string{"tap"},
		Tests: map[string]canary.State{
			"plain": canary.Passed, "GET /api/v1/users": canary.Passed, "case[1-2]": canary.Passed,
		}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
