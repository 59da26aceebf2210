package canary_test

import (
	"testing"

	"github.com/ralphloop/ralph/internal/proof/canary"
)

func TestCountFailing(t *testing.T) {
	for _, c := range []struct {
		runner, output string
		want           int
	}{
		{"nothing", "", 0},
		{"an unknown runner", "2 problems\n", 0},
		{"go", "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/x (0.00s)\n--- FAIL: TestB (0.1s)\nFAIL\nFAIL\tp\t0.1s\n", 2},
		{"go that does not build", "--- FAIL: TestA (0.00s)\nFAIL\tp\t0.1s\nFAIL\tq [build failed]\nFAIL\n", 0},
		{"jest", "Tests:       3 failed, 1 skipped, 7 passed, 11 total\n", 3},
		{"vitest, in color", "\x1b[2m      Tests \x1b[22m 2 failed | 3 passed (5)\n", 2},
		{"mocha", "  4 passing (8ms)\n  2 failing\n", 2},
		{"pytest", "FAILED t.py::test_a\n==== 2 failed, 3 passed, 1 error in 0.12s ====\n", 3},
		{"pytest -q", "1 failed, 3 passed in 0.02s\n", 1},
		{"pytest -x", "!!!! stopping after 1 failures !!!!\n==== 1 failed, 3 passed in 0.12s ====\n", 0},
		{"unittest", "Ran 5 tests in 0.001s\n\nFAILED (failures=2, errors=1)\n", 3},
		{"unittest with others", "FAILED (failures=3, expected failures=2, skipped=1)\n", 3},
		{"pytest with subtests", "2 failed, 5 passed, 4 subtests passed in 0.03s\n", 2},
		{"cargo", "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n", 2},
		{"rspec", "5 examples, 2 failures\n", 2},
		{"minitest", "5 runs, 9 assertions, 2 failures, 1 errors, 0 skips\n", 3},
		{"maven", "[ERROR] Tests run: 5, Failures: 2, Errors: 1, Skipped: 0\n", 3},
		{"node", "# tests 5\n# pass 3\n# fail 2\n", 2},
	} {
		if got := canary.CountFailing(c.output); got != c.want {
			t.Errorf("%s: %d failing, want %d", c.runner, got, c.want)
		}
	}
}
