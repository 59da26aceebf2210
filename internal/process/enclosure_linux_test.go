package process

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// nobody is a user without any rights.
const nobody = 65534

func init() { roles["enclosed"] = enclosed }

// enclosedReport is what a harness run by another user has to say.
type enclosedReport struct {
	Cannot string // why there are no enclosures for it
	Result Result
	Error  string // of the start
	Output string
}

// enclosed is a harness that runs one Spec, given as JSON.
func enclosed(args []string) int {
	var s Spec
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var report enclosedReport
	if err := CanEnclose(testContext()); err != nil {
		report.Cannot = err.Error()
	} else {
		var out bytes.Buffer
		s.Stdout.Tap, s.StderrToStdout = &out, true
		report.Result, err = runEither(testContext(), s)
		if err == nil {
			err = report.Result.StartError
		}
		if err != nil {
			report.Error = err.Error()
		}
		report.Result.StartError = nil
		report.Output = out.String()
	}
	if json.NewEncoder(os.Stdout).Encode(report) != nil {
		return 1
	}
	return 0
}

// users are the users to try enclosures for: the one who runs the test and, if that is root,
// a user without rights.
func users(t *testing.T, try func(t *testing.T, u user)) {
	t.Run("self", func(t *testing.T) { try(t, user{}) })
	t.Run("nobody", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root can become another user")
		}
		try(t, newNobody(t))
	})
}

// user runs a harness; the zero value is the user who runs the test.
type user struct {
	id      int
	harness string // a copy of the test binary: that one lies where only its owner can go
}

func newNobody(t *testing.T) user {
	t.Helper()
	u := user{id: nobody}
	u.harness = filepath.Join(u.folder(t), "harness")
	if out, err := exec.Command("cp", play("")[0], u.harness).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(u.harness, 0o755); err != nil {
		t.Fatal(err)
	}
	return u
}

// program is the test binary, where the user can start it.
func (u user) program(t *testing.T) string {
	t.Helper()
	if u.harness != "" {
		return u.harness
	}
	return play("")[0]
}

// folder belongs to the user, and leads to files that others can reach.
func (u user) folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "enclosure")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("chmod", "-R", "u+rwx", dir).Run()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if u.id != 0 {
		if err := os.Chown(dir, u.id, u.id); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// give makes everything below a folder the user's.
func (u user) give(t *testing.T, dir string) {
	t.Helper()
	if u.id != 0 {
		if out, err := exec.Command("chown", "-R", fmt.Sprintf("%d:%d", u.id, u.id), dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// run runs a spec in a harness of that user.
func (u user) run(t *testing.T, s Spec) enclosedReport {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	argv := u.startable(t, "enclosed", string(text))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if u.id != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.id), Gid: uint32(u.id)}}
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	var report enclosedReport
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if report.Cannot != "" {
		t.Skip("this system does not allow enclosures here: " + report.Cannot)
	}
	return report
}

// shell is a spec for a script.
func shell(script string) Spec {
	return Spec{
		Argv:    []string{"/bin/sh", "-c", script},
		Env:     []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		Timeout: time.Minute,
	}
}

// plant writes files, given as name and text.
func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// texts reads every file below a folder. A link is told by its target.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch entry.Type() {
		case 0:
			text, err := os.ReadFile(path)
			found[name] = string(text)
			return err
		case os.ModeSymlink:
			target, err := os.Readlink(path)
			found[name] = "-> " + target
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// overlayOf covers a folder, with its upper folder in another one.
func overlayOf(dir, folder string) Mount {
	return Mount{
		Kind:   Overlay,
		Target: dir,
		Lower:  dir,
		Upper:  filepath.Join(folder, "upper"),
		Work:   filepath.Join(folder, "work"),
	}
}

func TestOverlayTakesWhatIsWritten(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		dir := filepath.Join(u.folder(t), "a b:c,d\\e\nf")
		plant(t, dir, map[string]string{"kept": "1", "changed": "2", "gone": "3", "deep/er/file": "4", "locked/file": "5"})
		if err := os.Chmod(filepath.Join(dir, "locked"), 0o555); err != nil {
			t.Fatal(err)
		}
		u.give(t, dir)
		before := texts(t, dir)
		s := shell(
			`id -u; pwd; echo new > changed; rm gone; rm -rf deep; mkdir deep; echo x > deep/y; mkdir made; mv made moved
chmod u+w locked; rm locked/file; cat kept; ls; ls deep locked`,
		)
		s.Dir = dir
		s.Enclosure = &Enclosure{Mounts: []Mount{overlayOf(dir, u.folder(t))}}
		got := u.run(t, s)
		id := u.id
		if id == 0 {
			id = os.Getuid()
		}
		want := enclosedReport{
			Result: got.Result,
			Output: fmt.Sprintf("%d\n%s\n1changed\ndeep\nkept\nlocked\nmoved\ndeep:\ny\n\nlocked:\n", id, dir),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, texts(t, dir)); diff != "" {
			t.Errorf("workspace (-before +after):\n%s", diff)
		}
	})
}

func TestRightsAreThoseOfOneWithoutEnclosure(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		s := shell("grep -E '^(Cap|Uid|Gid|NoNewPrivs|Sig(Blk|Ign|Cgt))' /proc/self/status; ulimit -n")
		plain := u.run(t, s)
		s.Enclosure = &Enclosure{}
		enclosed := u.run(t, s)
		strip := func(text string) string {
			// A user namespace is born without bounds, which means nothing to one who has nothing.
			lines := strings.Split(text, "\n")
			kept := lines[:0]
			for _, line := range lines {
				if !strings.HasPrefix(line, "CapBnd") {
					kept = append(kept, line)
				}
			}
			return strings.Join(kept, "\n")
		}
		if diff := cmp.Diff(strip(plain.Output), strip(enclosed.Output)); diff != "" {
			t.Errorf("status (-plain +enclosed):\n%s", diff)
		}
	})
}
