//go:build unix

package verify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/ignored"
	"github.com/ralphloop/ralph/internal/proof/pristine"
	"github.com/ralphloop/ralph/internal/proof/protect"
)

// watched is a workspace whose ignored files are known. outside are there before the agent works.
func watched(t *testing.T, was, is, outside files) *bench {
	t.Helper()
	b := examine(t, was, is, protect.Config{Globs: []string{"kept"}}).apart(t)
	b.Isolation = ""
	if mode, _, err := pristine.StrongestMode(t.Context(), b.Dir, t.TempDir()); err != nil || mode != pristine.Overlay {
		b.Isolation = pristine.Copy
	}
	for name, text := range outside {
		write(t, 0o644, filepath.Join(b.Dir, name), text)
	}
	var err error
	if b.Ignored, err = ignored.Open(filepath.Join(t.TempDir(), "ignored.txt"), b.Dir, ""); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) compare(t *testing.T) ralph.Tampering {
	t.Helper()
	seen, err := b.Compare(t.Context(), b.base, b.now)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestViewsShowWhatTheTreeContains(t *testing.T) {
	const list = `find . -type f ! -name .git | sort | tr '\n' ' '`
	for _, mode := range []pristine.Mode{"", pristine.Copy} {
		t.Run("mode "+string(mode), func(t *testing.T) {
			b := watched(t, files{"a": "1"}, files{"a": "2"}, files{"dist/old": "x", ".env": "x", "out/x": "x"})
			if mode != "" {
				b.Isolation = mode
			}
			write(t, 0o644, filepath.Join(b.Dir, "dist/new"), "x")
			write(t, 0o644, filepath.Join(b.Dir, ".env"), "rewritten")
			write(t, 0o644, filepath.Join(b.Dir, "impl/deep/x"), "x")
			same(t, "left out", []string{".env", "dist/new", "impl/deep/x"}, b.compare(t).LeftOut)
			for kind, want := range map[ralph.ViewKind]string{
				ralph.ViewClaimed:  "./a ./dist/old ./out/x",
				ralph.ViewBase:     "./a ./dist/old ./out/x",
				ralph.ViewOldTests: "./a ./dist/old ./out/x",
				ralph.ViewAsLeft:   "./.env ./a ./dist/new ./dist/old ./impl/deep/x ./out/x",
			} {
				// a copy shares ignored files by links
				got := b.sees(t, kind, strings.Replace(list, "find .", "find -L .", 1))
				same(t, string(kind), want, strings.TrimSpace(got))
			}
		})
	}
}

// In place nothing can be left out, and the result says where the checks ran.
func TestChecksInPlaceSeeIgnoredFiles(t *testing.T) {
	b := watched(t, files{"a": "1"}, files{"a": "2"}, nil)
	b.Isolation = pristine.InPlace
	write(t, 0o644, filepath.Join(b.Dir, "impl"), "x")
	same(t, "left out", []string(nil), b.compare(t).LeftOut)
	same(t, "in place", "x", b.sees(t, ralph.ViewClaimed, "cat impl"))
	same(t, "in a view", "x", b.sees(t, ralph.ViewBase, "cat impl"))
}

func TestSetupInstallsDependenciesInViews(t *testing.T) {
	const install = "mkdir node_modules && cp package-lock.json node_modules/installed"
	was := files{"package-lock.json": "1", "install.sh": install}
	is := files{"package-lock.json": "2", "install.sh": install}
	installed := files{"node_modules/a": "old"}
	const look = "echo $(ls node_modules) $(cat node_modules/installed 2>&1)"
	change := func(b *bench) { write(t, 0o644, filepath.Join(b.Dir, "node_modules/a"), "of the agent") }

	b := watched(t, was, is, installed)
	b.Setup = "sh install.sh"
	change(b)
	seen := b.compare(t)
	same(t, "dependencies", []string(nil), seen.Dependencies)
	same(t, "environment", []string(nil), seen.Environment)
	same(t, "claimed", "installed 2\n", b.sees(t, ralph.ViewClaimed, look))
	same(t, "base", "installed 1\n", b.sees(t, ralph.ViewBase, look))
	same(t, "workspace", "of the agent", read(t, filepath.Join(b.Dir, "node_modules/a")))

	b.Setup = "echo broken; exit 3"
	got := b.sees(t, ralph.ViewClaimed, look)
	same(t, "failed setup", "broken\nchecks.setup failed (exit 3), so the check did not run: echo broken; exit 3", got)

	b = watched(t, was, is, installed)
	change(b)
	same(t, "asked about", []string{"node_modules"}, b.compare(t).Dependencies)
	same(t, "as it is", "of the agent", b.sees(t, ralph.ViewClaimed, "cat node_modules/a"))

	b = watched(t, was, was, installed)
	b.Setup = "sh install.sh"
	change(b)
	same(t, "without the lock file", []string{"node_modules/a (changed)"}, b.compare(t).Environment)
}

func TestLinksThatLeaveTheWorkspace(t *testing.T) {
	b := watched(t, files{"a": "1"}, files{
		"a": "1", "abroad": "", "above": "", "inside": "", "dangling": "", "absolute": "", "chain": "",
	}, nil)
	abroad := filepath.Join(t.TempDir(), "impl")
	write(t, 0o644, abroad, "x")
	for name, target := range map[string]string{
		"abroad": abroad, "above": "../../etc/passwd", "inside": "a", "dangling": "/nowhere/at/all",
		"absolute": filepath.Join(b.Dir, "a"), "chain": "abroad",
	} {
		path := filepath.Join(b.Dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, line := range b.compare(t).Environment {
		name, why, _ := strings.Cut(line, " (a link to ")
		if !strings.HasSuffix(why, ", which is not part of the tree)") {
			t.Error(line)
		}
		names = append(names, name)
	}
	same(t, "links", []string{"above", "abroad", "chain", "dangling"}, names)
}

func TestHardLinksToTestsAreTampering(t *testing.T) {
	tree := files{"kept": "x", "a_test.go": "package a", "a.go": "package a", "linked_test.go": "package a"}
	b := examine(t, tree, tree, protect.Config{Globs: []string{"kept"}}).apart(t)
	b.Isolation = pristine.Copy
	abroad := t.TempDir()
	link := func(name string) {
		t.Helper()
		if err := os.Link(filepath.Join(b.Dir, name), filepath.Join(abroad, name)); err != nil {
			t.Skip("the folders are on different disks")
		}
	}
	link("linked_test.go") // the user's own
	var err error
	if b.Ignored, err = ignored.Open(filepath.Join(t.TempDir(), "ignored.txt"), b.Dir, ""); err != nil {
		t.Fatal(err)
	}
	same(t, "before", []ralph.FileChange(nil), b.compare(t).Tampered)
	for _, name := range []string{"kept", "a_test.go", "a.go"} {
		link(name)
	}
	same(t, "tampered", []ralph.FileChange{
		{Name: "a_test.go", Kind: ralph.FileLinked}, {Name: "kept", Kind: ralph.FileLinked},
	}, b.compare(t).Tampered)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
