package inside

import (
	"reflect"
	"testing"
)

func TestParseStat(t *testing.T) {
	const rest = " S 10 20 30 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 9 0 12345 678 90 1844674407"
	plain := Process{PID: 7, Parent: 10, Group: 20, Session: 30, state: 'S', threads: 9, Start: 12345, Name: "sh"}
	named := func(name string) *Process { p := plain; p.Name = name; return &p }
	exiting := plain
	exiting.Exiting = true
	for name, test := range map[string]struct {
		line string
		want *Process
	}{
		"plain":             {"7 (sh)" + rest, &plain},
		"blank in the name": {"7 (a b)" + rest, named("a b")},
		"bracket in it":     {"7 (a) S 1 (b)" + rest, named("a) S 1 (b")},
		"empty name":        {"7 ()" + rest, named("")},
		"exiting":           {"7 (sh) S 10 20 30 0 -1 4194308 1 2 3 4 5 6 7 8 20 0 9 0 12345 678", &exiting},
		"empty":             {"", nil},
		"cut":               {"7 (sh) S 10 20", nil},
		"no name":           {"7 S 10 20 30", nil},
		"not a number":      {"7 (sh) S x 20 30 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 9 0 12345 678", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := parseStat(test.line)
			if ok != (test.want != nil) || ok && !reflect.DeepEqual(got, test.want) {
				t.Errorf("parseStat(%q) = %+v, %v\nwant %+v", test.line, got, ok, test.want)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("7 (sh) S 10 20 30 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 9 0 12345 678")
	f.Add("7 () ) ( S")
	f.Fuzz(func(t *testing.T, line string) {
		if p, ok := parseStat(line); ok && p == nil {
			t.Error("success without a process")
		}
	})
}
