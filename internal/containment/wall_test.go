package containment

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestMissingSettingsAreFilledForTheRun(t *testing.T) {
	p := scene(t, ".claude/settings.json")
	at := func(name string) string { return filepath.Join(p.Home, ".claude", name) }
	p.Kept = []string{at("settings.json"), at("other.json"), at("hooks"), at("agents")}
	room, err := Open(t.Context(), Options{Tier: sandbox.Bwrap, Run: "test"})
	if err != nil {
		t.Fatal(err)
	}
	room.Enter(p)
	if content, err := os.ReadFile(at("other.json")); err != nil || string(content) != "{}\n" {
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
