package containment

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/needs"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// scene makes a home with files, and returns it and a place for a workspace in it.
func scene(t *testing.T, files ...string) Place {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "project/file") {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Place{Home: home, Workspace: filepath.Join(home, "project"), Temp: filepath.Join(home, "tmp")}
}

// access returns what an agent can do with each path below home.
func access(p Place, paths ...string) map[string]sandbox.Access {
	b := builder{rules: p.Wall().Rules}
	all := map[string]sandbox.Access{}
	for _, path := range paths {
		all[path] = b.at(filepath.Join(p.Home, path)).Access
	}
	return all
}

func TestLoginsBesideToolsAreHidden(t *testing.T) {
	files := []string{
		".docker/bin/docker", ".docker/config.json", ".fly/bin/flyctl", ".fly/config.yml", ".config/git/config",
		".config/git/credentials", ".gem/credentials", ".gem/ruby/3/x", ".cache/go-build/x", ".cache/huggingface/token",
		".local/share/uv/credentials/x", ".local/share/uv/python/x", "go1/bin/go", "go1/pkg/x", "go1/VERSION",
		".gradle/gradle.properties", ".gradle/caches/x",
	}
	p := scene(t, files...)
	at := func(name string) string { return filepath.Join(p.Home, name) }
	p.Env = []string{
		"PATH=" + at(".docker/bin") + ":" + at(".fly/bin") + ":" + at("go1/bin"), "GRADLE_USER_HOME=" + at(".gradle"),
	}
	want := map[string]sandbox.Access{
		".docker/bin/docker": sandbox.Read, ".docker/config.json": sandbox.Hide, ".fly/bin/flyctl": sandbox.Read,
		".fly/config.yml": sandbox.Hide, ".config/git/config": sandbox.Read, ".config/git/credentials": sandbox.Hide,
		".gem/credentials": sandbox.Hide, ".gem/ruby/3/x": sandbox.Read, ".cache/go-build/x": sandbox.Write,
		".cache/huggingface/token": sandbox.Hide, ".local/share/uv/credentials/x": sandbox.Hide,
		".local/share/uv/python/x": sandbox.Read, "go1/bin/go": sandbox.Read, "go1/pkg/x": sandbox.Read,
		"go1/VERSION": sandbox.Read, ".gradle/gradle.properties": sandbox.Hide, ".gradle/caches/x": sandbox.Write,
	}
	if diff := cmp.Diff(want, access(p, files...)); diff != "" {
		t.Error(diff)
	}
}

func TestALinkOfTheAgentOpensNothing(t *testing.T) {
	p := scene(t, ".ssh/id", ".cache/go-build/x")
	at := func(name string) string { return filepath.Join(p.Home, name) }
	p.Env = []string{"GOCACHE=" + at(".cache/go-build/sub")}
	p.Write, p.Read = []string{at("project/out")}, []string{at("project/in")}
	for _, link := range []string{".cache/go-build/sub", "project/out", "project/in"} {
		if err := os.Symlink(at(".ssh"), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]sandbox.Access{".ssh/id": sandbox.Hide}, access(p, ".ssh/id")); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsKeptCannotBeMovedAway(t *testing.T) {
	p := scene(t, "project/.ralph/config.yaml")
	p.Kept = []string{filepath.Join(p.Workspace, ".ralph/config.yaml")}
	rules := map[string]sandbox.Access{}
	for _, r := range p.Wall().Rules {
		if name, err := filepath.Rel(p.Workspace, r.Path); err == nil && filepath.IsLocal(name) {
			rules[name] = r.Access
		}
	}
	want := map[string]sandbox.Access{".": sandbox.Write, ".ralph": sandbox.Write, ".ralph/config.yaml": sandbox.Read}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Error(diff)
	}
}

// openRoom makes a room in which no test starts bwrap: it is found, but need not be installed.
func openRoom(t *testing.T) *Room {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "bwrap"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	room, err := Open(t.Context(), Options{Tier: sandbox.Bwrap, Run: "test", Env: []string{"PATH=" + folder}})
	if err != nil {
		t.Fatal(err)
	}
	return room
}

func TestWithoutBubblewrapThereIsNoRoom(t *testing.T) {
	env := []string{"PATH=" + t.TempDir()}
	const why = "sandbox bwrap: bwrap is not on PATH; install bubblewrap (apt-get install bubblewrap, dnf install " +
		"bubblewrap), and let the system allow user namespaces; or choose another tier with --sandbox"
	for what, err := range map[string]error{
		"Open": func() error {
			_, err := Open(t.Context(), Options{Tier: sandbox.Bwrap, Run: "test", Env: env})
			return err
		}(),
		"Try": Try(t.Context(), sandbox.Bwrap, env),
	} {
		if err == nil || err.Error() != why {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestMissingSettingsAreFilledForTheRun(t *testing.T) {
	p := scene(t, ".claude/settings.json")
	at := func(name string) string { return filepath.Join(p.Home, ".claude", name) }
	p.Kept = []string{at("settings.json"), at("other.json"), at("hooks"), at("agents")}
	room := openRoom(t)
	room.Enter(p)
	if content, err := os.ReadFile(at("other.json")); err != nil || string(content) != "{ }\n" {
		t.Errorf("%q, %v", content, err)
	}
	if err := os.WriteFile(at("agents/mine.md"), nil, 0o600); err != nil { // the user works elsewhere
		t.Fatal(err)
	}
	if err := room.Close(); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, path := range p.Kept {
		if _, err := os.Stat(path); err == nil {
			left = append(left, filepath.Base(path))
		}
	}
	if diff := cmp.Diff([]string{"settings.json", "agents"}, left); diff != "" {
		t.Error(diff)
	}
}

// TestAnotherRunKeepsWhatItReliesOn holds settings that two runs filled until the last of them has ended.
func TestAnotherRunKeepsWhatItReliesOn(t *testing.T) {
	p := scene(t, ".claude/x")
	settings := filepath.Join(p.Home, ".claude/settings.json")
	p.Kept = []string{settings}
	var rooms [2]*Room
	for i := range rooms {
		rooms[i] = openRoom(t)
		rooms[i].Enter(p)
	}
	for i, want := range []bool{true, false} {
		if err := rooms[i].Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(settings); (err == nil) != want {
			t.Errorf("after run %d: %v", i, err)
		}
	}
}

// TestALinkToSettingsIsRestored replaces a link as an agent could.
func TestALinkToSettingsIsRestored(t *testing.T) {
	p := scene(t, ".claude/x", "dotfiles/settings.json")
	settings := filepath.Join(p.Home, ".claude/settings.json")
	target := filepath.Join(p.Home, "dotfiles/settings.json")
	if err := os.Symlink(target, settings); err != nil {
		t.Fatal(err)
	}
	p.Kept, p.Write = []string{settings}, []string{filepath.Join(p.Home, ".claude")}
	if diff := cmp.Diff([]string{settings}, p.LooseLinks()); diff != "" {
		t.Error(diff)
	}
	room := openRoom(t)
	room.Enter(p)
	if err := os.Remove(settings); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte("hooks"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := room.Close(); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Readlink(settings); err != nil || now != target {
		t.Errorf("%q, %v", now, err)
	}
}

func TestAnAgentChangesACopyOfAFileThatActsOnLaterSessions(t *testing.T) {
	needs.Program(t, "bwrap")
	p := scene(t, ".claude.json")
	file := filepath.Join(p.Home, ".claude.json")
	p.Write, p.Copies = []string{file}, []Copy{{Of: file}}
	room, err := Open(t.Context(), Options{Tier: sandbox.Bwrap, Run: "test", Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	spec := process.Spec{Argv: process.Shell("echo changed >" + file + "; cat " + file), Dir: p.Workspace}
	var said strings.Builder
	spec.Stdout = process.Sink{Tap: &said}
	room.Enter(p)(&spec)
	if ended, err := process.Run(t.Context(), spec); err != nil || ended.ExitCode != 0 {
		t.Fatal(ended, err)
	}
	if content, err := os.ReadFile(file); said.String() != "changed\n" || len(content) != 0 || err != nil {
		t.Errorf("inside %q, outside %q, %v", said.String(), content, err)
	}
}

func TestFoldersAboveRalphsOwnCannotBeMovedAway(t *testing.T) {
	p := scene(t, "a/b/state/log")
	at := func(name string) string { return filepath.Join(p.Home, name) }
	p.Own, p.Write = []string{at("a/b/state")}, []string{at("a/b")}
	for name, wall := range map[string]sandbox.Wall{"thin": p.ThinWall(), "full": p.Wall()} {
		rules := map[string]sandbox.Access{}
		for _, r := range wall.Rules {
			if isWithin(r.Path, at("a")) {
				rules[strings.TrimPrefix(r.Path, p.Home+"/")] = r.Access
			}
		}
		want := map[string]sandbox.Access{"a/b": sandbox.Write, "a/b/state": sandbox.Hide}
		if name == "thin" {
			want["a"] = sandbox.Write
		}
		if diff := cmp.Diff(want, rules); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTheUserOpensToolchainsAndHome(t *testing.T) {
	p := scene(t, ".cargo/bin/cargo", ".cargo/config.toml", ".netrc")
	p.Write, p.Read = []string{filepath.Join(p.Home, ".cargo")}, []string{p.Home}
	want := map[string]sandbox.Access{
		".cargo/bin/cargo": sandbox.Write, ".cargo/config.toml": sandbox.Write, ".netrc": sandbox.Read,
	}
	if diff := cmp.Diff(want, access(p, ".cargo/bin/cargo", ".cargo/config.toml", ".netrc")); diff != "" {
		t.Error(diff)
	}
	thin := builder{rules: p.ThinWall().Rules}
	if rule := thin.at(filepath.Join(p.Home, ".cargo/bin/cargo")); rule.Access != sandbox.Write {
		t.Errorf("a check: %v", rule)
	}
}

func TestScriptsOfAnAgentsSettingsAreKept(t *testing.T) {
	p := scene(t, ".claude/statusline.sh", ".claude/history.jsonl", ".claude/local/claude", ".claude/projects/x.sh")
	folder := filepath.Join(p.Home, ".claude")
	want := []string{filepath.Join(folder, "local"), filepath.Join(folder, "statusline.sh")}
	if diff := cmp.Diff(want, ProgramsIn([]string{folder, filepath.Join(p.Home, "absent")})); diff != "" {
		t.Error(diff)
	}
}

func TestAHomeThatIsTheWorkspaceIsNotProtected(t *testing.T) {
	p := scene(t)
	p.Workspace = filepath.Dir(p.Home)
	choice, err := Choose(context.Background(), Auto, p)
	if err != nil || choice.Tier != sandbox.None {
		t.Errorf("%v, %v", choice, err)
	}
	const why = "sandbox bwrap: the workspace is your home folder, or contains it; " +
		"work in a folder of its own, or pass --sandbox none"
	if _, err := Choose(context.Background(), string(sandbox.Bwrap), p); err == nil || err.Error() != why {
		t.Errorf("%v", err)
	}
}

func TestMain(m *testing.M) {
	_ = process.OwnOrphans()
	os.Exit(m.Run())
}
