package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func init() { roles["network"] = network }

// network says what can be reached: an own server, and a remote one that does not answer.
func network([]string) int {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	client, err := net.Dial("tcp", server.Addr().String())
	fmt.Println("own:", err)
	if err == nil {
		client.Close()
	}
	_, err = net.DialTimeout("udp", "192.0.2.1:9", time.Second)
	fmt.Println("far:", err)
	return 0
}

// startable is the test binary at a path that the user can reach.
func (u user) startable(t *testing.T, role string, args ...string) []string {
	t.Helper()
	argv := play(role, args...)
	argv[0] = u.program(t)
	return argv
}

func (u user) same(t *testing.T, want enclosedReport, s Spec) {
	t.Helper()
	got := u.run(t, s)
	got.Result = steady(got.Result)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func enclosedShell(script string) Spec {
	s := shell(script)
	s.Enclosure = &Enclosure{}
	return s
}

func TestEndsComeThroughAnEnclosure(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		u.same(
			t,
			enclosedReport{Result: Result{State: Exited, ExitCode: 7, StdoutBytes: 2}, Output: "x\n"},
			enclosedShell("echo x; exit 7"),
		)
		u.same(t, enclosedReport{Result: Result{State: Exited, ExitCode: 137, Signal: "killed"}}, enclosedShell("kill -9 $$"))
		late := enclosedShell("exec sleep 1000")
		late.Timeout = time.Second
		u.same(t, enclosedReport{Result: Result{State: TimedOut, ExitCode: 143, Signal: "terminated"}}, late)
	})
	t.Run("asked to end", func(t *testing.T) {
		if err := CanEnclose(t.Context()); err != nil {
			t.Skip("this system does not allow enclosures here: " + err.Error())
		}
		ctx, cancel := context.WithCancel(t.Context())
		s := enclosedShell("trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done")
		s.Stdout.Tap = tapFunc(func(p []byte) (int, error) {
			cancel()
			return len(p), nil
		})
		s.Grace = time.Minute
		got, err := runEither(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Result{State: Canceled, ExitCode: 3, StdoutBytes: 3}, steady(got)); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
	})
}

func TestWhatCannotBeStartedInAnEnclosure(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		dir := u.folder(t)
		plant(t, dir, map[string]string{"ws/text": "x", "ws/prog": "#!/bin/sh\necho from $(pwd)", "top": ""})
		ws := filepath.Join(dir, "ws")
		if err := os.Chmod(ws+"/prog", 0o755); err != nil {
			t.Fatal(err)
		}
		u.give(t, dir)
		try := func(name string, e Enclosure, argv ...string) enclosedReport {
			got := u.run(t, Spec{Argv: argv, Dir: ws, Env: []string{"PATH=" + ws + ":/usr/bin:/bin"}, Enclosure: &e})
			got.Result = steady(got.Result)
			return got
		}
		overlay := []Mount{overlayOf(ws, u.folder(t))}
		missing := overlayOf(ws, filepath.Join(dir, "no", "where"))
		cases := map[string]struct {
			got  enclosedReport
			want enclosedReport
		}{
			"no program": {
				try("", Enclosure{}, "not-there-at-all"),
				enclosedReport{
					Error:  "start not-there-at-all: program not found",
					Result: Result{State: NotStarted, ExitCode: 127},
				},
			},
			"no such file": {
				try("", Enclosure{}, "./nothing"),
				enclosedReport{Error: "start ./nothing: program not found", Result: Result{State: NotStarted, ExitCode: 127}},
			},
			"text": {
				try("", Enclosure{}, "./text"),
				enclosedReport{
					Error:  "start ./text: program not executable: permission denied",
					Result: Result{State: NotStarted, ExitCode: 126},
				},
			},
			"here": {
				try("", Enclosure{}, "prog"),
				enclosedReport{Output: "from " + ws + "\n", Result: Result{State: Exited, StdoutBytes: int64(len(ws) + 6)}},
			},
			"taken away": {
				try("", Enclosure{Mounts: overlay, Root: ws, Edits: []Edit{{Name: "prog"}}}, "prog"),
				enclosedReport{Error: "start prog: program not found", Result: Result{State: NotStarted, ExitCode: 127}},
			},
			"hidden folder": {
				try("", Enclosure{Mounts: []Mount{{Kind: Tmpfs, Target: dir}}}, "/bin/true"),
				enclosedReport{
					Error:  "start /bin/true in " + ws + ": working folder not usable: no such file or directory",
					Result: Result{State: NotStarted, ExitCode: -1},
				},
			},
			"no enclosure": {
				try("", Enclosure{Mounts: []Mount{missing}}, "/bin/true"),
				enclosedReport{
					Error: "cannot create the enclosure: mount overlay on " + ws + ": mkdir " + missing.Upper +
						": no such file or directory",
					Result: Result{State: NotStarted, ExitCode: -1},
				},
			},
			"bad edit": {
				try("", Enclosure{Mounts: overlay, Root: ws, Edits: []Edit{{Name: "../top"}}}, "/bin/true"),
				enclosedReport{
					Error:  `cannot create the enclosure: edit "../top": not a path below the folder`,
					Result: Result{State: NotStarted, ExitCode: -1},
				},
			},
		}
		for name, c := range cases {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// What a check leaves behind is found across namespaces: by its session, by its environment and,
// for one who owns orphans, by its parent.
func TestNothingSurvivesInAnEnclosure(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		tag := newTag()
		linger := u.startable(t, "linger", tag)
		s := shell(
			"nohup \"$0\" \"$1\" \"$2\" >/dev/null 2>&1 & setsid \"$0\" \"$1\" \"$2\" >/dev/null 2>&1 & sleep 0.1; exit 0",
		)
		s.Argv = append(s.Argv, linger...)
		s.Enclosure = &Enclosure{}
		got := u.run(t, s)
		if got.Result.Survivors != 2 || got.Result.Unkillable != 0 || got.Result.ExitCode != 0 {
			t.Errorf("got %+v", got)
		}
		noBearers(t, tag)
	})
	t.Run("orphan without a trace", func(t *testing.T) {
		if err := CanEnclose(t.Context()); err != nil {
			t.Skip("this system does not allow enclosures here: " + err.Error())
		}
		tag := newTag()
		r := run(t, Spec{Argv: play("detach-bare", play("linger", tag)...), Enclosure: &Enclosure{}})
		if r.Survivors != 1 || r.Unkillable != 0 {
			t.Errorf("got %+v", r)
		}
		noBearers(t, tag)
	})
}

func TestNoNetworkLeavesLoopback(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		s := Spec{Argv: u.startable(t, "network"), Enclosure: &Enclosure{NoNetwork: true}, Timeout: time.Minute}
		got := u.run(t, s)
		want := "own: <nil>\nfar: dial udp 192.0.2.1:9: connect: network is unreachable\n"
		if got.Output != want || got.Error != "" {
			t.Errorf("got %+v, want %q", got, want)
		}
	})
}

func TestBindAndTmpfs(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		dir := u.folder(t)
		plant(t, dir, map[string]string{"file": "old", "other, file": "new", "folder/x": "x", "empty/y": "y"})
		u.give(t, dir)
		before := texts(t, dir)
		s := shell("cat file; cat empty/x; ls folder; touch folder/z; ls folder")
		s.Dir = dir
		s.Enclosure = &Enclosure{
			Mounts: []Mount{
				{Kind: Bind, Source: dir + "/other, file", Target: dir + "/file"},
				{Kind: Bind, Source: dir + "/folder", Target: dir + "/empty"},
				{Kind: Tmpfs, Target: dir + "/folder"},
			},
		}
		u.same(t, enclosedReport{Output: "newxz\n", Result: Result{State: Exited, StdoutBytes: 6}}, s)
		if diff := cmp.Diff(before, texts(t, dir)); diff != "" {
			t.Errorf("folder (-before +after):\n%s", diff)
		}
	})
}

func TestMountsBelowAnOverlayStayVisible(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		dir := u.folder(t)
		plant(t, dir, map[string]string{"ws/a": "a", "ws/node_modules/covered": "c", "volume/m": "m", "volume/deep/d": "d"})
		u.give(t, dir)
		ws := filepath.Join(dir, "ws")
		mounts := []Mount{
			{Kind: Bind, Source: dir + "/volume", Target: ws + "/node_modules"},
			{Kind: Tmpfs, Target: ws + "/node_modules/deep"},
			overlayOf(ws, u.folder(t)),
		}
		s := shell("cat a; ls node_modules node_modules/deep; echo w > node_modules/w; echo w > w")
		s.Dir = ws
		s.Enclosure = &Enclosure{Mounts: mounts}
		want := "anode_modules:\ndeep\nm\n\nnode_modules/deep:\n"
		u.same(t, enclosedReport{Output: want, Result: Result{State: Exited, StdoutBytes: int64(len(want))}}, s)
		after := map[string]string{
			"ws/a":                    "a",
			"ws/node_modules/covered": "c",
			"volume/m":                "m",
			"volume/w":                "w\n",
			"volume/deep/d":           "d",
		}
		if diff := cmp.Diff(after, texts(t, dir)); diff != "" {
			t.Errorf("folder (-want +got):\n%s", diff)
		}
		link := filepath.Join(u.folder(t), "link")
		if err := os.Symlink(ws, link); err != nil {
			t.Fatal(err)
		}
		for _, root := range []string{ws, link} {
			s.Enclosure = &Enclosure{Mounts: mounts, Root: root, Edits: []Edit{{Name: "node_modules/m"}}}
			got := u.run(t, s)
			refused := "cannot create the enclosure: edit node_modules/m: " + ws + "/node_modules is a separate file system"
			if got.Error != refused {
				t.Errorf("got %+v, want %q", got, refused)
			}
		}
		if diff := cmp.Diff(after, texts(t, dir)); diff != "" {
			t.Errorf("folder (-want +got):\n%s", diff)
		}
	})
}

// The kernel hides what is below a mount from outside the namespace. The error says so, and
// not taken for a broken system.
func TestForeignMountBelowAnOverlay(t *testing.T) {
	u := user{}
	if os.Getuid() == 0 {
		u = newNobody(t)
	}
	dir := u.folder(t)
	plant(t, dir, map[string]string{"ws/node_modules/covered": "c", "volume/m": "m"})
	u.give(t, dir)
	ws := filepath.Join(dir, "ws")
	inner := shell("true")
	inner.Enclosure = &Enclosure{Mounts: []Mount{overlayOf(ws, u.folder(t))}}
	text, err := json.Marshal(inner)
	if err != nil {
		t.Fatal(err)
	}
	got := u.run(
		t,
		Spec{
			Argv:      u.startable(t, "enclosed", string(text)),
			Enclosure: &Enclosure{Mounts: []Mount{{Kind: Bind, Source: dir + "/volume", Target: ws + "/node_modules"}}},
		},
	)
	var inside enclosedReport
	if err := json.Unmarshal([]byte(got.Output), &inside); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	want := "cannot create the enclosure: mount overlay on " + ws + ": invalid argument: " + ws +
		"/node_modules is mounted below it, and only root may expose it"
	if inside.Error != want {
		t.Errorf("got %q, want %q", inside.Error, want)
	}
}

func TestMakeIsCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if err := (&Enclosure{}).Make(ctx); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkEnclosure is what an enclosure costs, with an overlay and an edit.
func BenchmarkEnclosure(b *testing.B) {
	dir, folder := b.TempDir(), b.TempDir()
	source := filepath.Join(folder, "source")
	if err := os.WriteFile(source, []byte(strings.Repeat("x", 1000)), 0o600); err != nil {
		b.Fatal(err)
	}
	e := Enclosure{
		Mounts: []Mount{overlayOf(dir, folder)},
		Root:   dir,
		Edits:  []Edit{{Name: "a/b", Source: source}, {Name: "c"}},
	}
	for b.Loop() {
		if err := e.Make(b.Context()); err != nil {
			b.Skip("this system does not allow enclosures here: " + err.Error())
		}
	}
}
