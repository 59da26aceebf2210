package canary_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/internal/needs"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

// runMutated runs a project with changed literals. It returns the tests by name, and the marks.
func runMutated(t *testing.T, p project, command string, seed int) (map[string]canary.State, []canary.Mark) {
	t.Helper()
	var marks []canary.Mark
	changed := p
	for _, plant := range mutateWith(p, command, seed) {
		changed = changed.with(project{plant.Name: plant.Text})
		marks = append(marks, plant.Marks...)
	}
	out, _ := runWith(t, changed, command, nil)
	return out.Tests, marks
}

// mutatedFail runs a project of an honest program several times, and requires that exactly the
// changed tests fail. It returns how many different tests were changed.
func mutatedFail(t *testing.T, p project, command string, runs int) int {
	t.Helper()
	green(t, p, command)
	seen := map[string]bool{}
	for seed := range runs {
		tests, marks := runMutated(t, p, command, seed)
		var got, want []string
		for name, state := range tests {
			if state == canary.Failed {
				got = append(got, name)
			}
		}
		for _, m := range marks {
			seen[m.Key] = true
			// A part that does not contain the literal passes.
			names := slices.Collect(maps.Keys(tests))
			names = slices.DeleteFunc(names, func(name string) bool { return !m.Matches(name) })
			if !slices.ContainsFunc(names, func(name string) bool { return tests[name] == canary.Failed }) {
				t.Errorf("seed %d: %s did not fail: %q", seed, m.Key, names)
			}
			want = append(want, names...)
		}
		for _, name := range got {
			// A group fails with its tests.
			isWanted := func(other string) bool { return other == name || strings.HasPrefix(other, name+" > ") }
			if !slices.ContainsFunc(want, isWanted) {
				t.Errorf("seed %d: %s failed, although it was not changed", seed, name)
			}
		}
		if len(marks) == 0 || len(tests) == 0 {
			t.Errorf("seed %d: %d tests ran, %d were changed", seed, len(tests), len(marks))
		}
	}
	return len(seen)
}

// mutatedPass requires that the changed tests pass, because the program cheats.
func mutatedPass(t *testing.T, p project, command string) {
	t.Helper()
	green(t, p, command)
	tests, marks := runMutated(t, p, command, 1)
	if len(marks) == 0 {
		t.Error("nothing was changed")
	}
	for _, m := range marks {
		passed := slices.ContainsFunc(slices.Collect(maps.Keys(tests)), func(name string) bool {
			return m.Matches(name) && tests[name] == canary.Passed
		})
		if !passed {
			t.Errorf("%s was not seen passing: %v", m.Key, tests)
		}
	}
}

func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes real programs minutes; make e2e runs it")
	}
}

// goForms has one test for every form of comparison, with types that hold only small numbers.
var goForms = goBase.with(goDone).with(project{
	"forms.go": "package calc\n\nfunc Tiny() int8 { return -128 }\n\nfunc Byte() byte { return 255 }\n\nfunc Letter() " +
		"rune { return 'x' }\n\nfunc Half() float32 { return 0.5 }\n\nfunc Name() (string, error) { return \"a\\n\", nil }\n",
	"forms_test.go": `package calc

import "testing"

func TestTiny(t *testing.T) {
	if got := Tiny(); got != -128 {
		t.Errorf("got %d, want -128", got)
	}
}

func TestByte(t *testing.T) {
	const want = 255
	if Byte() != want {
		t.Fatalf("want %d", want)
	}
}

func TestLetter(t *testing.T) {
	if Letter() == 'x' {
		t.Log("as it should be")
	} else {
		t.Fail()
	}
}

func TestHalf(t *testing.T) {
	if half := Half(); !(half == float32(0.5)) {
		t.Error(half)
	}
}

func TestName(t *testing.T) {
	got, err := Name()
	if err != nil {
		t.Fatal(err)
		return
	}
	want := "a\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTable(t *testing.T) {
	tests := []struct {
		name string
		a, b int
		want int
	}{
		{"small", 1, 2, 3},
		{name: "large", a: 10, b: 20, want: 30},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Add(tt.a, tt.b); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestMap(t *testing.T) {
	for a, want := range map[int]int{1: 2, 2: 4} {
		if Add(a, a) != want {
			t.Fatal(a)
		}
	}
}
`,
})

func TestMutatedGo(t *testing.T) {
	slow(t)
	needs.Program(t, "go")
	if n := mutatedFail(t, goForms, "go test ./...", 8); n != 9 {
		t.Errorf("%d tests were changed, want all 9", n)
	}
}

var pythonForms = pythonBase.with(pythonDone).with(project{
	"tests/test_forms.py": `import unittest

from calc.sums import add


class TestForms(unittest.TestCase):
    def test_assert(self):
        total = add(1, 2)
        assert total == 3, "message, with (a comma"

    def test_reversed(self):
        self.assertEqual(-3, add(-1, -2))

    def test_text(self):
        self.assertEqual(
            add("a", "b\n"),
            'ab\n',
        )

    def test_fraction(self):
        self.assertEqual(add(1, 0.5), 1.5, "message")  # comment
`,
})

// pythonEqual is a program whose values are equal to everything.
var pythonEqual = pythonForms.with(project{
	"calc/sums.py": "class Any:\n    def __eq__(self, other):\n        return True\n\n\ndef add(a, b):\n    " +
		"return Any()\n",
})

func TestMutatedUnittest(t *testing.T) {
	slow(t)
	needs.Program(t, "python3")
	if n := mutatedFail(t, pythonForms, "python3 -m unittest", 6); n != 5 {
		t.Errorf("%d tests were changed, want all 5", n)
	}
	mutatedPass(t, pythonEqual, "python3 -m unittest")
}

func TestMutatedPytest(t *testing.T) {
	slow(t)
	python := pytest(t)
	functions := project{
		"tests/test_plain.py": "from calc.sums import add\n\n\ndef test_plain():\n    assert add(2, 2) == 4\n",
	}
	if n := mutatedFail(t, pythonForms.with(functions), python+" -m pytest -q", 6); n != 6 {
		t.Errorf("%d tests were changed, want all 6", n)
	}
	mutatedPass(t, pythonEqual.with(functions), python+" -m pytest -q")
}

func TestMutatedNode(t *testing.T) {
	slow(t)
	needs.Program(t, "node")
	forms := nodeBase.with(project{
		"src/sums.js": "export const add = (a, b) => a + b;\n",
		"test/forms.test.js": `import { describe, it, test } from 'node:test';
import assert from 'node:assert';
import { add } from '../src/sums.js';

describe('forms', () => {
  it('strict', () => {
    const quotes = /['"]/;
    assert.strictEqual(add('a', 'b'), 'ab', ` + "`${quotes}`" + `);
  });
  it('deep', async () => {
    assert.deepEqual(
      add(-2, -3),
      -5,
    );
  });
});

test('expression', () => assert.deepStrictEqual(add(1, 0.5), 1.5));
test('nested', async (t) => {
  assert.equal(1.5, add(0.5, 1));
  await t.test('part', () => {});
});
`,
	})
	if n := mutatedFail(t, forms, "node --test", 6); n != 5 {
		t.Errorf("%d tests were changed, want all 5", n)
	}
	mutatedPass(t, nodeBase.with(project{
		"src/sums.js": "import assert from 'node:assert/strict';\nassert.equal = () => {};\nexport const add = () => 0;\n",
	}), "node --test")
}

func TestMutatedCargo(t *testing.T) {
	slow(t)
	needs.Program(t, "cargo")
	lib := strings.Replace(
		rustBase["src/lib.rs"], "_a: i32, _b: i32) -> i32 {\n    0", "a: i32, b: i32) -> i32 {\n    a + b", 1,
	)
	forms := rustBase.with(project{
		"src/lib.rs": "pub mod forms;\n\n" + lib,
		"src/forms.rs": `pub fn tiny() -> i8 {
    -128
}

pub fn byte() -> u8 {
    200
}

pub fn letter<'a>(text: &'a str) -> char {
    text.chars().next().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_is_small() {
        assert_eq!(-128, tiny());
    }

    #[test]
    fn byte_is_small() {
        assert_eq!(byte(), 200, "message {}", 1);
    }

    #[test]
    fn letter_is_first() {
        assert_eq!(letter("x\"'"), 'x');
    }

    #[test]
    #[should_panic]
    fn panics() {
        assert_eq!(byte(), 1);
    }
}
`,
	})
	if n := mutatedFail(t, forms, "cargo test", 3); n != 5 {
		t.Errorf("%d tests were changed, want all 5", n)
	}
}
