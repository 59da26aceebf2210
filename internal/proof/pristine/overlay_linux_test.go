package pristine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralphloop/ralph/internal/needs"
	"github.com/ralphloop/ralph/internal/process"
)

// In a container everything may already be on an overlay.
func TestOverlayOnAnOverlay(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		top := u.folder(t)
		dir, folder, base := filepath.Join(top, "ws"), filepath.Join(top, "views"), filepath.Join(top, "base")
		write(t, top, map[string]string{"ws/a": "agent's", "base": "base"})
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		u.own(t, top)
		text, err := json.Marshal(scene{Strong: true, Options: Options{
			Dir: dir, Folder: folder, Mode: Overlay, Edits: pairs("a", base),
		},
			Scripts: []string{"cat a; echo w > written", "cat a; cat b"}, Between: pairs("b", base)})
		if err != nil {
			t.Fatal(err)
		}
		outer := u.act(t, scene{Options: Options{Dir: top, Folder: u.folder(t), Mode: Overlay},
			Scripts: []string{"exec " + quote(u.harness(t)) + " role:view " + quote(string(text))}})
		if outer.Error != "" || len(outer.Outputs) != 1 {
			t.Fatalf("outer view: %+v", outer)
		}
		var inner seen
		if err := json.Unmarshal([]byte(outer.Outputs[0]), &inner); err != nil {
			t.Fatalf("%v: %s", err, outer.Outputs[0])
		}
		if inner.Mode != string(Overlay) {
			t.Skip("this system does not allow an overlay in an overlay: " + inner.Why)
		}
		same(
			t, "scene", seen{Mode: "overlay", Why: inner.Why, Exits: []int{0, 0}, Outputs: []string{"base", "basebase"}},
			inner,
		)
		t.Logf("why: %q", inner.Why)
	})
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// mounts lists the mounts of this process that concern a folder.
func mounts(t *testing.T, folder string) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, folder) {
			found = append(found, line)
		}
	}
	return found
}

func TestClosedOverlayLeavesNothing(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		dir, folder := u.folder(t), u.folder(t)
		write(t, dir, map[string]string{"a": "a", "keep/b": "b"})
		u.own(t, dir)
		before := look(t, dir)
		got := u.act(t, scene{Options: Options{Dir: dir, Folder: folder, Mode: Overlay},
			Scripts: []string{
				"mkdir -p mod/cache; echo x > mod/cache/x; chmod 0444 mod/cache/x; chmod 0555 mod/cache mod; rm -rf " +
					"keep; ln -s / root; mkfifo pipe; chmod 000 a",
			}})
		same(t, "scene", seen{Mode: "overlay", Outputs: []string{""}, Exits: []int{0}}, got)
		same(t, "workspace", before, look(t, dir))
		same(t, "folder of the view", []string{"."}, names(t, folder))
		same(t, "mounts", []string(nil), append(mounts(t, dir), mounts(t, folder)...))
	})
}

func TestAnOverlayThatWasTriedIsMadeByItsFirstCommand(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		dir, folder := u.folder(t), u.folder(t)
		write(t, dir, map[string]string{"a": "a"})
		u.own(t, dir)
		before := look(t, dir)
		got := u.act(t, scene{Options: Options{
			Dir: dir, Folder: folder, Mode: Overlay, OverlayWorked: true,
		}, Between: pairs("c", filepath.Join(dir, "a")),
			Scripts: []string{"echo b > b", show, show}})
		same(
			t, "scene",
			seen{Mode: "overlay", Outputs: []string{"", "./a a\n./b b\n", "./a a\n./b b\n./c a\n"}, Exits: []int{0, 0, 0}},
			got,
		)
		same(t, "workspace", before, look(t, dir))
		same(t, "folder of the view", []string{"."}, names(t, folder))
	})
}

func TestSweepRemovesWhatKilledViewsLeft(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		dir, folder := u.folder(t), u.folder(t)
		write(t, dir, map[string]string{"a": "a"})
		write(t, folder, map[string]string{"view-1/view/upper/mod/x": "x", "view-1/view/work/work/x": "", "view-2": "-> ."})
		for _, name := range []string{"view-1/view/upper/mod", "view-1/view/work/work"} {
			if err := os.Chmod(filepath.Join(folder, name), 0); err != nil {
				t.Fatal(err)
			}
		}
		u.own(t, dir)
		u.own(t, folder)
		got := u.act(t, scene{
			Sweep: folder, Options: Options{Dir: dir, Folder: folder, Mode: Overlay}, Scripts: []string{show},
		})
		same(t, "scene", seen{Mode: "overlay", Outputs: []string{"./a a\n"}, Exits: []int{0}}, got)
		same(t, "folder of views", []string{"."}, names(t, folder))
	})
}

func TestViewsOneAfterTheOther(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		dir, folder, base := u.folder(t), u.folder(t), filepath.Join(u.folder(t), "base")
		write(t, dir, map[string]string{"a": "a", "b": "b"})
		write(t, filepath.Dir(base), map[string]string{"base": "base"})
		u.own(t, dir)
		u.own(t, base)
		for _, c := range []struct {
			edits []Edit
			want  string
		}{{pairs("a", base), "./a base\n./b b\n"}, {pairs("b", ""), "./a a\n"}, {nil, "./a a\n./b b\n"}} {
			got := u.act(t, scene{
				Options: Options{Dir: dir, Folder: folder, Mode: Overlay, Edits: c.edits},
				Scripts: []string{show + "; echo spoiled > a"},
			})
			same(t, "scene", seen{Mode: "overlay", Outputs: []string{c.want}, Exits: []int{0}}, got)
		}
	})
}

func TestProjectsAreGreenInAnOverlay(t *testing.T) {
	projects := map[string]struct {
		files map[string]string
		check string
		need  string
	}{
		"go": {map[string]string{"go.mod": "module x\n\ngo 1.24\n", "x.go": "package x\n\nfunc F() int { return 1 }\n",
			"x_test.go": "package x\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) {\n\tif F() != 1 " +
				"{\n\t\tt.Fatal()\n\t}\n}\n"}, "GOFLAGS=-mod=mod GOPROXY=off go test ./...", "go"},
		"python": {map[string]string{
			"x.py": "def f():\n    return 1\n",
			"test_x.py": "import unittest\nfrom x import f\n\nclass T(unittest.TestCase):\n    def test(self):\n     " +
				"   self.assertEqual(f(), 1)\n",
		},
			"python3 -m unittest", "python3"},
		"node": {
			map[string]string{
				"x.js":      "exports.f = () => 1\n",
				"x.test.js": "const test = require('node:test')\ntest('f', () => { if (require('./x').f() !== 1) throw 1 })\n",
			},
			"node --test", "node",
		},
		"git": {
			map[string]string{"a": "1"},
			"git status --porcelain && git -c user.name=x -c user.email=x commit -qam changed && git log --format=%s",
			"git",
		},
	}
	for name, p := range projects {
		t.Run(name, func(t *testing.T) {
			needs.Program(t, p.need)
			u := user{}
			dir, base := u.folder(t), filepath.Join(u.folder(t), "base")
			write(t, dir, p.files)
			write(t, filepath.Dir(base), map[string]string{"base": "2"})
			s := scene{Options: Options{Dir: dir, Folder: u.folder(t), Mode: Overlay}, Scripts: []string{p.check}}
			want := seen{Mode: "overlay", Exits: []int{0}}
			if name == "git" {
				for _, args := range []string{"init -q", "add .", "-c user.name=x -c user.email=x commit -qm first"} {
					git := exec.Command("git", append([]string{"-C", dir}, strings.Fields(args)...)...)
					if out, err := git.CombinedOutput(); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				}
				s.Options.Edits = pairs("a", base)
			}
			before := look(t, dir)
			got := u.act(t, s)
			output := strings.Join(got.Outputs, "")
			if name == "git" && output != " M a\nchanged\nfirst\n" {
				t.Errorf("git says %q", output)
			}
			got.Outputs = nil
			same(t, "scene", want, got)
			same(t, "workspace", before, look(t, dir))
			if t.Failed() {
				t.Log(output)
			}
		})
	}
}

func init() { roles["doomed"] = playDoomed }

// playDoomed opens a view and runs a check in it that never ends by itself.
func playDoomed(args []string) int {
	var s scene
	if json.Unmarshal([]byte(args[0]), &s) != nil {
		return 1
	}
	v, err := Open(testContext(), s.Options)
	if err != nil {
		fmt.Fprint(os.Stderr, err.Error())
		return 1
	}
	spec := process.Spec{Argv: process.Shell(s.Scripts[0]), Dir: s.Options.Dir, Env: s.Env, Marker: s.Remember}
	v.Enter(&spec)
	_, _ = process.Run(testContext(), spec)
	return 1
}

func TestKilledHarnessLeavesTheWorkspaceUntouched(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		dir, folder, base := u.folder(t), u.folder(t), filepath.Join(u.folder(t), "base")
		write(t, dir, map[string]string{"a": "agent's", "b/c": "c"})
		write(t, filepath.Dir(base), map[string]string{"base": "base"})
		u.own(t, dir)
		u.own(t, base)
		if r := u.act(t, scene{Options: Options{Dir: dir, Folder: folder, Mode: Overlay}}); r.Error != "" {
			t.Fatal(r.Error)
		}
		before := look(t, dir)
		marker := "doomed-" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(u.id)
		text, err := json.Marshal(scene{Options: Options{
			Dir: dir, Folder: folder, Mode: Overlay, Edits: pairs("a", base, "b", ""),
		},
			Scripts: []string{
				"echo written > new; rm a; touch b; echo up > " + folder + "/up; while :; do echo more >> new; sleep 0.01; done",
			},
			Env: []string{"PATH=/usr/bin:/bin"}, Remember: marker})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(u.harness(t), "role:doomed", string(text))
		var complaints bytes.Buffer
		cmd.Stderr = &complaints
		if u.id != 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.id), Gid: uint32(u.id)}}
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for limit := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(folder, "up")); err == nil {
				break
			}
			if time.Now().After(limit) {
				t.Fatalf("the check never ran: %s", complaints.String())
			}
		}
		cmd.Process.Kill()
		cmd.Wait()
		same(t, "workspace with the check still running", before, look(t, dir))
		if swept := u.sweep(t, marker); swept == 0 {
			t.Error("the check was not found")
		}
		same(t, "workspace", before, look(t, dir))
	})
}

// sweep kills the processes that a harness of the user left, as that user.
func (u user) sweep(t *testing.T, marker string) int {
	t.Helper()
	cmd := exec.Command(u.harness(t), "role:sweep", marker)
	if u.id != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.id), Gid: uint32(u.id)}}
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	killed, err := strconv.Atoi(string(out))
	if err != nil {
		t.Fatal(err)
	}
	return killed
}

func init() {
	roles["sweep"] = func(args []string) int {
		killed, err := process.Dead{Marker: args[0]}.Kill()
		if err != nil {
			return 1
		}
		fmt.Print(strconv.Itoa(killed))
		return 0
	}
}

func TestNoNetworkInEveryMode(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		dir := u.folder(t)
		write(t, dir, map[string]string{"a": "a"})
		u.own(t, dir)
		for _, mode := range []Mode{Overlay, Copy, InPlace} {
			got := u.act(t, scene{Strong: true, Options: Options{
				Dir: dir, Folder: u.folder(t), Mode: mode,
				Files: []string{"a"}, NoNetwork: true,
			},
				Scripts: []string{"cat a; grep -c : /proc/net/dev"}})
			same(t, string(mode), seen{Mode: "overlay", Outputs: []string{"a1\n"}, Exits: []int{0}}, got)
		}
	})
}
