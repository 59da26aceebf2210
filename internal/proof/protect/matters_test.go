package protect

import "testing"

func TestMatters(t *testing.T) {
	for name, want := range map[string]bool{
		"zz_test.go": true, "pkg/zz.go": true, "conftest.py": true, ".mocharc.json": true, ".cargo/config.toml": true,
		"tests/data.bin": true,
		".env":           false, "coverage.out": false, "a.log": false, "lib.o": false, "notes.md": false, "db.sqlite": false,
	} {
		if got := Matters(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
