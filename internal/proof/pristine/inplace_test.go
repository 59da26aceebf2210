//go:build unix

package pristine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func init() { roles["restless"] = playRestless }

// spoiled is a tree as an agent left it, with everything that can be in the way of an edit, and
// edits of all kinds.
func spoiled(t *testing.T, u user) (dir string, edits, more []Edit) {
	t.Helper()
	top := u.folder(t)
	dir = filepath.Join(top, "ws")
	write(
		t,
		dir,
		map[string]string{
			"a_test.go":   "agent's",
			"run":         "#!/bin/sh\nexit 0",
			"dir/deep/x":  "x",
			"dir/deep/l":  "-> x",
			"dir/y":       "y",
			"was-folder":  "now a file",
			"linked":      "-> dir",
			"locked/file": "f",
			"keep":        "k",
			"conf":        "-> keep",
			"is-folder/z": "z",
		},
	)
	write(t, top, map[string]string{"src/base": "base", "src/prog": "#!/bin/true", "src/link": "-> keep"})
	if err := os.Chmod(filepath.Join(dir, "locked/file"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "locked"), 0o555); err != nil {
		t.Fatal(err)
	}
	u.own(t, top)
	past := time.Unix(1_700_000_000, 123_456_789)
	for name, s := range look(t, dir) {
		if s.Mode&os.ModeSymlink == 0 {
			if err := os.Chtimes(filepath.Join(dir, name), past, past); err != nil {
				t.Fatal(err)
			}
		}
	}
	base, prog, link := top+"/src/base", top+"/src/prog", top+"/src/link"
	edits = pairs(
		"a_test.go",
		base,
		"run",
		prog,
		"dir",
		"",
		"was-folder/in/it",
		base,
		"linked/new",
		base,
		"locked/file",
		base,
		"conf",
		link,
		"is-folder",
		prog,
		"not/there",
		"",
		"new/one",
		base,
	)
	more = pairs("a_test.go", prog, "canary_test.go", base, "new", "", "keep", "", "dir/deep/x", base)
	return dir, edits, more
}

// pairs builds edits from pairs of name and source.
func pairs(list ...string) []Edit {
	var edits []Edit
	for i := 0; i < len(list); i += 2 {
		edits = append(edits, Edit{Name: list[i], Source: list[i+1]})
	}
	return edits
}

func TestInPlaceIsPutBack(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		dir, edits, more := spoiled(t, u)
		before := look(t, dir)
		journal := filepath.Join(u.folder(t), "state", "journal")
		got := u.act(t, scene{
			Options: Options{Dir: dir, Folder: u.folder(t), Journal: journal, Mode: InPlace, Edits: edits},
			Scripts: []string{
				show, "echo mine > new/by-check; echo spoiled > a_test.go; chmod 700 run", show,
			}, Between: more[:2]})
		shown := func(test, rest string) string {
			return "./a_test.go" + test + "\n" + rest +
				"./conf -> keep\n./is-folder* #!/bin/true\n./keep k\n./linked/new base\n./locked/file base\n"
		}
		same(t, "scene", seen{Exits: []int{0, 0, 0}, Outputs: []string{
			shown(" base", "") + "./new/one base\n./run* #!/bin/true\n./was-folder/in/it base\n", "",
			shown(
				"* #!/bin/true", "./canary_test.go base\n",
			) + "./new/by-check mine\n./new/one base\n./run* #!/bin/true\n./was-folder/in/it base\n",
		}}, got)
		after := look(t, dir)
		if after["new/by-check"].Text != "mine\n" {
			t.Error("what a check wrote is gone")
		}
		delete(after, "new/by-check")
		delete(after, "new")
		// The folder has one more entry than before, so its time is new.
		root := after["."]
		root.ModTime = before["."].ModTime
		after["."] = root
		same(t, "workspace", before, after)
		if _, err := os.Lstat(journal); !os.IsNotExist(err) {
			t.Errorf("the journal is still there: %v", err)
		}
	})
}

// A home can be a workspace, and then the harness's own folders are inside it.
func TestFolderInTheWorkspaceLeavesOnlyInPlace(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "state", "views")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	mode, why := StrongestMode(t.Context(), dir, folder)
	same(t, "mode", InPlace, mode)
	same(t, "why", "the folder for views would be inside the workspace: "+folder, why)
	v, err := Open(t.Context(), Options{
		Dir: dir, Folder: folder, Journal: filepath.Join(dir, "state", "journal"), Mode: mode,
	})
	if err == nil {
		err = v.Close()
	}
	if err != nil {
		t.Error(err)
	}
	for _, mode := range []Mode{Overlay, Copy} {
		if _, err := Open(t.Context(), Options{Dir: dir, Folder: folder, Mode: mode}); err == nil {
			t.Errorf("%s: a view holds what it is made of", mode)
		}
	}
}

// playRestless opens, edits and closes in-place views in an endless loop.
func playRestless(args []string) int {
	var o Options
	var more []Edit
	if json.Unmarshal([]byte(args[0]), &o) != nil || json.Unmarshal([]byte(args[1]), &more) != nil {
		return 1
	}
	fmt.Print("up\n")
	for {
		v, err := Open(testContext(), o)
		if err == nil {
			err = v.ApplyEdits(more)
		}
		if err == nil {
			err = v.Close()
		}
		if err != nil {
			fmt.Fprint(os.Stderr, err.Error())
			return 1
		}
	}
}

// The process is killed at random moments, with a seed: there are too many points to list, and each
// has to be survived.
func TestKilledInPlaceIsRecovered(t *testing.T) {
	dir, edits, more := spoiled(t, user{})
	before := look(t, dir)
	journal := filepath.Join(t.TempDir(), "journal")
	o := Options{Dir: dir, Folder: t.TempDir(), Journal: journal, Mode: InPlace, Edits: edits}
	turn := howLong(t, o, more)
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	further, err := json.Marshal(more)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(5, 17))
	restoredAny := 0
	for round := range 40 {
		cmd := exec.Command(user{}.harness(t), "role:restless", string(options), string(further))
		up, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := up.Read(make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(random.Int64N(int64(turn))))
		cmd.Process.Kill()
		cmd.Wait()
		if cmd.ProcessState.Exited() {
			t.Fatalf("round %d: the harness ended by itself", round)
		}
		if round%3 == 0 {
			recoverPartly(t, journal, random.IntN(12))
		}
		restored, err := Recover(t.Context(), journal)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if len(restored) > 0 {
			restoredAny++
		}
		same(t, "workspace", before, look(t, dir))
		if _, err := os.Lstat(journal); !os.IsNotExist(err) {
			t.Errorf("the journal is still there: %v", err)
		}
		if again, err := Recover(t.Context(), journal); err != nil || again != nil {
			t.Errorf("a second time: %v, %v", again, err)
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	if restoredAny == 0 {
		t.Error("no round had anything to restore")
	}
	t.Logf("%d of 40 rounds had something to restore", restoredAny)
}

// howLong measures one turn of playRestless.
func howLong(t *testing.T, o Options, more []Edit) time.Duration {
	t.Helper()
	began := time.Now()
	v, err := Open(t.Context(), o)
	if err == nil {
		err = v.ApplyEdits(more)
	}
	if err == nil {
		err = v.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// recoverPartly is interrupted after some paths.
func recoverPartly(t *testing.T, path string, places int) {
	t.Helper()
	j := journal{path: path}
	_, _ = j.undo(func() error {
		if places--; places < 0 {
			return os.ErrDeadlineExceeded
		}
		return nil
	})
}

func TestUnfinishedJournalMeansNoEdit(t *testing.T) {
	dir, _, _ := spoiled(t, user{})
	before := look(t, dir)
	journal := filepath.Join(t.TempDir(), "journal")
	write(t, journal, map[string]string{"000001.new/list": `{"dir":`, "000001.new/000001": "half"})
	restored, err := Recover(t.Context(), journal)
	if err != nil || restored != nil {
		t.Errorf("got %v, %v", restored, err)
	}
	same(t, "workspace", before, look(t, dir))
	if _, err := os.Lstat(journal); !os.IsNotExist(err) {
		t.Errorf("the journal is still there: %v", err)
	}
}

func TestViewInPlaceWaitsForRecovery(t *testing.T) {
	dir, edits, _ := spoiled(t, user{})
	write(t, dir, map[string]string{"bad\xff\nname": "b"})
	before := look(t, dir)
	edits = append(edits, Edit{Name: "bad\xff\nname"})
	o := Options{
		Dir: dir, Folder: t.TempDir(), Journal: filepath.Join(t.TempDir(), "journal"), Mode: InPlace, Edits: edits,
	}
	first, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	edited := look(t, dir)
	if _, err := Open(t.Context(), o); err == nil {
		t.Error("a second view was opened")
	}
	same(t, "workspace", edited, look(t, dir))
	if _, there := edited["bad\xff\nname"]; there {
		t.Error("a name that is no UTF-8 was not taken away")
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	same(t, "workspace", before, look(t, dir))
}
