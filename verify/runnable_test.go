package verify

import "testing"

func TestLacksModule(t *testing.T) {
	const missing = "/usr/bin/python3: No module named pytest\n"
	for _, c := range []struct {
		command, output string
		want            bool
	}{
		{"python3 -m pytest -q", missing, true},
		{"cd sub && python -m pytest", "python: No module named pytest", true},
		{"python3 -m pytest", "collected 3 items\n" + missing, false},
		{"python3 -m pytest", "/usr/bin/python3: No module named requests", false},
		{"python3 run.py", missing, false},
		{"python3 -m", missing, false},
		{"python3 -m pytest", "", false},
	} {
		if got := lacksModule(c.command, c.output); got != c.want {
			t.Errorf("%s: %q: %v, want %v", c.command, c.output, got, c.want)
		}
	}
}
