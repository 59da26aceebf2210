//go:build unix

package pristine

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

	"github.com/ralphloop/ralph/internal/process"
)

// TestMain lets the test binary act as another harness: one of another user, or one that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if role, ok := strings.CutPrefix(os.Args[1], "role:"); ok {
			syscall.Exit(roles[role](os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

var roles = map[string]func(args []string) int{}

func init() { roles["view"] = playView }

// scene is what a test asks of a harness: a view, and scripts that run in it one after the other.
type scene struct {
	Options  Options
	Strong   bool // ask StrongestMode first and do nothing if that is not an overlay
	Scripts  []string
	Env      []string
	Dir      string // folder of the scripts; "" is the workspace
	Between  []Edit // applied before the last script
	Remember string // a folder of saved surroundings, with HOME in Env
	GitDirs  []string
	Sweep    string   // a folder of views that were not closed
	Watch    []string // files to look at after every script
}

// seen is the result of a scene.
type seen struct {
	Mode, Why string
	Outputs   []string
	Exits     []int
	Error     string
	Changed   []string
	Unhidden  []string
	Touched   [][]string
}

// playView plays a scene, given as JSON.
func playView(args []string) int {
	var s scene
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if json.NewEncoder(os.Stdout).Encode(s.play()) != nil {
		return 1
	}
	return 0
}

func (s *scene) play() (r seen) {
	ctx := testContext()
	if s.Strong {
		mode, why, err := StrongestMode(ctx, s.Options.Dir, s.Options.Folder)
		if r.Mode, r.Why = string(mode), why; err != nil {
			r.Error = err.Error()
		}
		if mode != Overlay {
			return r
		}
	}
	if err := s.act(&r); err != nil {
		r.Error = err.Error()
	}
	return r
}

func (s *scene) act(r *seen) error {
	if s.Sweep != "" {
		if err := Sweep(s.Sweep); err != nil {
			return err
		}
	}
	if s.Remember != "" {
		around, err := SaveSurroundings(s.Remember, s.Env, s.GitDirs)
		if err != nil {
			return err
		}
		s.Options.Surroundings = around
		r.Changed, r.Unhidden = around.Changed(), around.VisibleChanges(s.Options.Mode, s.Options.Dir)
	}
	v, err := Open(testContext(), s.Options)
	if err != nil {
		return err
	}
	for i, script := range s.Scripts {
		if i == len(s.Scripts)-1 {
			if err := v.ApplyEdits(s.Between); err != nil {
				return err
			}
		}
		var out bytes.Buffer
		env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, s.Env...)
		spec := process.Spec{
			Argv: process.Shell(script), Env: env, Dir: s.Dir, StderrToStdout: true, Timeout: 5 * time.Minute,
		}
		spec.Stdout.Tap = &out
		if spec.Dir == "" {
			spec.Dir = s.Options.Dir
		}
		v.Enter(&spec)
		result, err := process.Run(testContext(), spec)
		if err == nil {
			err = result.StartError
		}
		if err != nil {
			return err
		}
		r.Outputs = append(r.Outputs, out.String())
		r.Exits = append(r.Exits, result.ExitCode)
		if err := s.look(v, r); err != nil {
			return err
		}
	}
	return v.Close()
}

// look names what the last script did to the watched files.
func (s *scene) look(v *View, r *seen) error {
	if s.Watch == nil {
		return nil
	}
	changes, err := v.Touched(testContext(), s.Watch)
	var touched []string
	for _, c := range changes {
		if c.After == "" {
			c.Name += " gone"
		}
		touched = append(touched, c.Name)
	}
	r.Touched = append(r.Touched, touched)
	return err
}

// user runs a harness; the zero value is the user who runs the test.
type user struct {
	id      int
	program string // a copy of the test binary, which is in a folder that only its owner can enter
}

// users runs a test for the current user and, if that is root, also for an unprivileged one.
func users(t *testing.T, try func(t *testing.T, u user)) {
	t.Helper()
	t.Run("self", func(t *testing.T) { try(t, user{}) })
	t.Run("nobody", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root can become somebody else")
		}
		u := user{id: 65534}
		u.program = filepath.Join(u.folder(t), "harness")
		if out, err := exec.Command("cp", user{}.harness(t), u.program).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := os.Chmod(u.program, 0o755); err != nil {
			t.Fatal(err)
		}
		try(t, u)
	})
}

// act plays a scene as that user. It skips the test if the scene needs an overlay and the system
// allows none for that user.
func (u user) act(t *testing.T, s scene) seen {
	t.Helper()
	s.Strong = s.Strong || s.Options.Mode == Overlay
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(u.harness(t), "role:view", string(text))
	cmd.Dir = "/"
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if u.id != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.id), Gid: uint32(u.id)}}
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	var r seen
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if s.Options.Mode == Overlay && r.Mode != string(Overlay) {
		t.Skip("this system does not allow overlays here: " + r.Why)
	}
	return r
}

// harness is a program that the user can start.
func (u user) harness(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if u.program != "" {
		return u.program
	}
	return self
}

// folder creates a new folder that belongs to the user.
func (u user) folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pristine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeAll(filepath.Dir(dir), filepath.Base(dir)); err != nil {
			t.Error(err)
		}
	})
	u.own(t, dir)
	return dir
}

func (u user) own(t *testing.T, path string) {
	t.Helper()
	if u.id == 0 {
		return
	}
	err := filepath.WalkDir(path, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, u.id, u.id)
	})
	if err != nil {
		t.Fatal(err)
	}
}
