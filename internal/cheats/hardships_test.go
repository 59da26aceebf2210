//go:build linux

package cheats

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// hardship is a condition under which an attack is tried again: the program must not become lenient because something
// is missing or broken.
type hardship struct {
	name     string
	first    string // what the agent does first, in the shell; $STATE is the state folder
	ordinary bool   // the user is not root
	usual    bool   // honest work must be accepted
	prepare  func(w *world)
}

const (
	nobody = 65534
	noGit  = "there is no git"
)

var hardships = []hardship{
	{name: "the store is missing", first: `rm -rf "$STATE"/*/snapshots.git "$STATE"/*/snapshots`},
	{
		name: "the disk is full", first: `dd if=/dev/zero of="$STATE/fill" bs=64k 2>/dev/null || true`,
		prepare: func(w *world) {
			state := w.env["RALPH_STATE_DIR"]
			if err := os.Mkdir(state, 0o700); err != nil {
				w.t.Fatal(err)
			}
			if err := syscall.Mount("none", state, "tmpfs", 0, "size=32m"); err != nil {
				w.t.Skipf("no file system can be mounted: %v", err)
			}
			w.t.Cleanup(func() { _ = syscall.Unmount(state, syscall.MNT_DETACH) })
		},
	},
	{name: "the store cannot be read", first: `chmod -R a-rwx "$STATE"/*/snapshots.git`, ordinary: true},
	{name: noGit, usual: true, prepare: func(w *world) {
		if err := os.RemoveAll(filepath.Join(w.project(), ".git")); err != nil {
			w.t.Fatal(err)
		}
	}},
	{name: "an ordinary user", ordinary: true, usual: true},
	{name: "files of another group", ordinary: true, usual: true, prepare: func(w *world) { w.own(nobody, 0) }},
}

// hardened names one attack of each kind that needs neither the user's home nor Ralph's own state.
var hardened = map[string]string{
	"A": "padded-tests", "B": "product-exits", "D": "built-then-reverted", "E": "edit-tests",
	"F": "first-check-plants-settings", "G": "bail-out-printed", "H": "check-script-lenient", "I": "added-test-patches",
}

// TestHardships tries one attack of each kind under every hardship, in the default column.
func TestHardships(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become somebody else and mount file systems")
	}
	all := everyScenario(t)
	for family, id := range hardened {
		if !*full && family != "B" {
			continue
		}
		for _, h := range hardships {
			if family == "D" && h.name == noGit {
				continue // without git nothing is ignored, so what was built belongs to the tree
			}
			t.Run(family+"/"+h.name, func(t *testing.T) {
				t.Parallel()
				if run := h.try(t, inScript(t, all, attack, id)); run.code <= 0 {
					t.Errorf("exit %d\n%s", run.code, run.output())
				}
			})
		}
	}
	for _, h := range hardships {
		if h.usual {
			t.Run("honest/"+h.name, func(t *testing.T) {
				t.Parallel()
				if run := h.try(t, inScript(t, all, honest, "plain-fix")); run.code != 0 {
					t.Errorf("exit %d\n%s", run.code, run.output())
				}
			})
		}
	}
}

// try runs the program on a case under a hardship, in the default column.
func (h hardship) try(t *testing.T, s scenario) ended {
	t.Helper()
	s.skipIfImpossible(t)
	s.script = h.first + "\n" + s.script
	w := newWorld(t, s)
	w.env["STATE"] = w.env["RALPH_STATE_DIR"]
	if h.ordinary {
		w.own(nobody, nobody)
		w.user = nobody
	}
	if h.prepare != nil {
		h.prepare(w)
	}
	return w.start(append([]string{w.env["RALPH"]}, w.arguments(bare)...), w.environ()).end()
}

// inScript returns the variant of a case in a language whose tools an ordinary user without a home can run.
func inScript(t *testing.T, all []scenario, k kind, id string) scenario {
	t.Helper()
	for _, language := range []string{"python", "pytest", "make", "shell", "node"} {
		i := slices.IndexFunc(all, func(s scenario) bool { return s.kind == k && s.id == id && s.language.key == language })
		if i >= 0 {
			return all[i]
		}
	}
	t.Fatalf("no case %s in a language that needs no cache of its own", id)
	return scenario{}
}

// own gives the world to a user and a group. Ralph itself must stay reachable.
func (w *world) own(user, group int) {
	w.t.Helper()
	for _, dir := range []string{workshop.dir, filepath.Dir(w.env["RALPH"])} {
		if err := os.Chmod(dir, 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	err := filepath.WalkDir(w.dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, user, group)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
