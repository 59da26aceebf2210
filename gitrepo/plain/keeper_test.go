package plain

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// plainKept is a workspace without git, with its folder of copies beside it.
type plainKept struct {
	*testing.T
	dir, folder string
	keeper      *Keeper
}

func keepPlain(t *testing.T) plainKept {
	t.Helper()
	k := plainKept{T: t, dir: t.TempDir(), folder: filepath.Join(t.TempDir(), "state", "copies")}
	k.again()
	return k
}

// again is the same in another process.
func (k *plainKept) again() {
	k.Helper()
	keeper, err := (&Tree{Dir: k.dir}).Keep(k.folder)
	k.must(err)
	k.keeper = keeper
}

func (k plainKept) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k plainKept) write(name, text string) {
	k.Helper()
	path := filepath.Join(k.dir, name)
	k.must(os.MkdirAll(filepath.Dir(path), 0o700))
	k.must(os.WriteFile(path, []byte(text), 0o600))
}

func (k plainKept) look() ralph.TreeState {
	k.Helper()
	state, err := k.keeper.Fingerprint(k.Context(), ralph.TreeInput{})
	k.must(err)
	return state
}

func (k plainKept) files(id string) []string {
	k.Helper()
	names, err := k.keeper.Files(k.Context(), id)
	k.must(err)
	return names
}

func (k plainKept) wantEqual(what string, want, got any) {
	k.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		k.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestPlainKeeperFingerprint(t *testing.T) {
	k := keepPlain(t)
	k.write("a", "a\n")
	k.write("node_modules/x", "x\n")
	k.write(".git/config", "x\n")
	k.write(".ralph/progress.md", "a view\n")
	k.write(".ralph/config.yaml", "checks: []\n")
	state := k.look()
	plain, err := (&Tree{Dir: k.dir}).Fingerprint(t.Context(), ralph.TreeInput{})
	k.must(err)
	plain.Snapshot = state.Snapshot
	k.wantEqual("state", plain, state)
	k.wantEqual("files", []string{".ralph/config.yaml", "a"}, k.files(state.Snapshot))

	k.again()
	k.wantEqual("in another process", state, k.look())
	k.write("b", "b\n")
	k.write("a", "b\n")
	between, err := k.keeper.Between(t.Context(), state.Snapshot, k.look().Snapshot)
	k.must(err)
	k.wantEqual("between", "2 files changed, 1 new file", between)
	k.must(os.Remove(filepath.Join(k.dir, "b")))
	k.write("a", "a\n")
	k.wantEqual("back", state, k.look())

	k.must(filepath.WalkDir(k.folder, func(path string, entry fs.DirEntry, err error) error {
		k.must(err)
		info, err := entry.Info()
		if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[entry.IsDir()]; info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	}))
	left, err := os.ReadDir(filepath.Join(k.folder, "tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestPlainKeeperInTheWorkspace(t *testing.T) {
	k := keepPlain(t)
	inside := filepath.Join(k.dir, "state", "copies")
	if _, err := (&Tree{Dir: k.dir}).Keep(inside); err == nil ||
		!strings.HasPrefix(err.Error(), "keep snapshots in "+inside+": it is in the workspace") {
		t.Errorf("error %v", err)
	}
}

// TestPlainKeeperReadsOnce takes the content of a kept file away: as long as the file looks
// the same it is not read, so that the content stays away.
func TestPlainKeeperReadsOnce(t *testing.T) {
	k := keepPlain(t)
	k.write("a", "a\n")
	k.look()
	id := k.keeper.last["a"].file.ID
	deadline := time.Now().Add(time.Minute)
	for { // until the file is old enough for its times to be trusted
		k.must(os.Remove(k.keeper.store.content(id)))
		k.look()
		if _, err := os.Lstat(k.keeper.store.content(id)); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the file is read again and again")
		}
		<-time.After(50 * time.Millisecond)
	}
	// An agent can set the time of a file back, but not hide that it did.
	before := k.look()
	info, err := os.Lstat(filepath.Join(k.dir, "a"))
	k.must(err)
	k.write("a", "b\n")
	k.must(os.Chtimes(filepath.Join(k.dir, "a"), info.ModTime(), info.ModTime()))
	if scan.StampOf(info).Changed == 0 {
		return // not on this system
	}
	changes, err := k.keeper.Changes(t.Context(), before.Snapshot, k.look().Snapshot)
	k.must(err)
	k.wantEqual("changes", []ralph.FileChange{{Name: "a", Kind: ralph.FileChanged}}, changes)
}

// TestPlainKeeperLeavesOut has one copy of one tree, also if something is left out of it
// that would find its place by itself.
func TestPlainKeeperLeavesOut(t *testing.T) {
	k := keepPlain(t)
	k.write("a", "a\n")
	k.write("b", "b\n")
	k.look()
	seen := k.keeper.last["b"]
	info, err := os.Lstat(filepath.Join(k.dir, "b"))
	k.must(err)
	k.keeper.last["b"] = sighting{
		scan.StampOf(info),
		manifest.Entry{},
		manifest.LeftOut{Name: "b", Why: "it was too much"},
	}
	for range 2 {
		state := k.look()
		k.wantEqual("left", []string{"b is not up to date in the snapshot: it was too much"}, state.Omitted)
		k.wantEqual("files", []string{"a"}, k.files(state.Snapshot))
	}
	k.must(os.Chmod(filepath.Join(k.dir, "b"), 0o700))
	state := k.look()
	k.wantEqual("left", []string(nil), state.Omitted)
	k.wantEqual("files", []string{"a", "b"}, k.files(state.Snapshot))
	k.wantEqual("content", seen.file.ID, k.keeper.last["b"].file.ID)
}

// TestPlainKeeperDamaged has contents and a list that are not what was kept.
func TestPlainKeeperDamaged(t *testing.T) {
	k := keepPlain(t)
	k.write("a", "a\n")
	state := k.look()
	k.again()
	content := k.keeper.store.content("87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7")
	k.must(os.WriteFile(content, []byte("x\n"), 0o600))
	_, read := k.keeper.Read(t.Context(), state.Snapshot, "a", 10)
	to := t.TempDir()
	extract := k.keeper.Extract(t.Context(), state.Snapshot, to, nil)
	k.again()
	k.must(os.WriteFile(k.keeper.store.list(state.Snapshot), []byte(listTitle), 0o600))
	_, files := k.keeper.Files(t.Context(), state.Snapshot)
	for want, err := range map[string]error{
		"read snapshot " + state.Snapshot + ": read content: " + content + " is damaged": read,
		"extract snapshot: read content: " + content + " is damaged":                     extract,
		"read snapshot " + state.Snapshot + ": its list of files is damaged":             files,
	} {
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if left, err := os.ReadDir(to); err != nil || len(left) > 0 {
		t.Errorf("extracted %v, %v", left, err)
	}

	// What a machine that went down cut off is made whole by the next copy.
	k.must(os.Truncate(content, 0))
	k.look()
	text, err := os.ReadFile(content)
	k.must(err)
	k.wantEqual("content", "a\n", string(text))
}

func TestPruneKeepsWhatIsNeeded(t *testing.T) {
	k := keepPlain(t)
	k.write("same", "in both")
	k.write("old", strings.Repeat("old ", 1000))
	first := k.look().Snapshot
	k.must(os.Remove(filepath.Join(k.dir, "old")))
	k.write("new", "new")
	second := k.look().Snapshot
	left, err := Prune(k.folder, func(id string) bool { return id == second })
	if err != nil || left != 1 {
		t.Fatalf("%d left, %v", left, err)
	}
	k.again()
	if _, err := k.keeper.Files(t.Context(), first); err == nil {
		t.Error("the first snapshot is still there")
	}
	for name, want := range map[string]string{"same": "in both", "new": "new"} {
		if text, err := k.keeper.Read(t.Context(), second, name, 100); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
	contents, err := filepath.Glob(filepath.Join(k.folder, "contents", "*", "*"))
	if err != nil || len(contents) != 2 {
		t.Errorf("contents %v, %v", contents, err)
	}
	if left, err := Prune(k.folder, func(string) bool { return false }); err != nil || left != 0 {
		t.Errorf("%d left, %v", left, err)
	}
	if left, err := Prune(filepath.Join(k.folder, "none"), func(string) bool { return true }); err != nil || left != 0 {
		t.Errorf("without a folder: %d left, %v", left, err)
	}
}
