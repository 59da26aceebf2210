package verify

import "testing"

func TestKilledChecks(t *testing.T) {
	for _, c := range []struct {
		name   string
		exit   int
		output string
		want   bool
	}{
		{"failed", 1, "FAIL: one test killed by a mutant", false},
		{"crashed", 139, "Segmentation fault", false},
		{"aborted", 134, "Aborted", false},
		{"by TERM", 143, "", true},
		{"by KILL", 137, "", true},
		{"by INT", 130, "", true},
		{"by HUP", 129, "", true},
		{"a child of dash", 1, "running\nTerminated\n", true},
		{"a child of bash", 1, "check.sh: line 2: 4242 Killed                  python3 t.py\n", true},
		{"a child of make", 2, "make[1]: *** [Makefile:2: test] Terminated\n", true},
		{"a test binary of go", 1, "signal: killed\nFAIL\tx/y\t0.4s\n", true},
		{"a test of go about that", 1, "    x_test.go:3: got \"signal: killed\"\n", false},
		{"a child of npm", 1, "npm error signal SIGTERM\n", true},
	} {
		if got := wasKilled(c.exit, c.output); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
