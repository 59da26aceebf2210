package process

import (
	"os"
	"os/exec"
	"reflect"
	"testing"
)

func TestParseStat(t *testing.T) {
	const rest = " S 10 20 30 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 9 0 12345 678 90 1844674407"
	plain := procStat{pid: 7, parent: 10, group: 20, session: 30, state: 'S', threads: 9, start: 12345, name: "sh"}
	named := func(name string) *procStat { p := plain; p.name = name; return &p }
	exiting := plain
	exiting.exiting = true
	for name, test := range map[string]struct {
		line string
		want *procStat
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
			got, ok := parseStat([]byte(test.line))
			if ok != (test.want != nil) || ok && !reflect.DeepEqual(got, test.want) {
				t.Errorf("parseStat(%q) = %+v, %v\nwant %+v", test.line, got, ok, test.want)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (sh) S 10 20 30 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 9 0 12345 678"))
	f.Add([]byte("7 () ) ( S"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if p, ok := parseStat(line); ok && p == nil {
			t.Error("success without a process")
		}
	})
}

func TestIdentity(t *testing.T) {
	argv := play("linger")
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first, ok1 := Identity(cmd.Process.Pid)
	again, ok2 := Identity(cmd.Process.Pid)
	if first == "" || first != again || !ok1 || !ok2 {
		t.Errorf("Identity = %q, %v, then %q, %v", first, ok1, again, ok2)
	}
	if self, ok := Identity(os.Getpid()); self == first || !ok {
		t.Errorf("Identity of this process = %q, %v, of a child %q", self, ok, first)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Its threads do not end at the same moment.
	eventually(t, "a dead process has no identity", func() bool {
		_, ok := Identity(cmd.Process.Pid)
		return !ok && isZombie(cmd.Process.Pid)
	})
	_ = cmd.Wait()
	if id, ok := Identity(cmd.Process.Pid); ok {
		t.Errorf("Identity of no process = %q", id)
	}
	if id, ok := Identity(-1); ok {
		t.Errorf("Identity of -1 = %q", id)
	}
}
