package install

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newPlace(t *testing.T, agent string) Place {
	t.Helper()
	home := t.TempDir()
	return Place{
		Agent: agent, Home: home, State: filepath.Join(home, "state"),
		Lookup: func(string) (string, bool) { return "", false },
	}
}

// tree returns the files and folders below a folder, without Ralph's state.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || name == "state" {
			return cmpSkip(err)
		}
		files[name] = info.Mode().String()
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			files[name] += " " + string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func cmpSkip(err error) error {
	if err == nil {
		return filepath.SkipDir
	}
	return err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, plan func() (Plan, error)) Plan {
	t.Helper()
	p, err := plan()
	if err == nil {
		err = p.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestUninstallLeavesEveryByteAsItWas(t *testing.T) {
	texts := maps.Clone(settings)
	texts["missing"] = ""
	for _, agent := range Agents {
		for name, text := range texts {
			t.Run(agent+" "+name, func(t *testing.T) {
				p := newPlace(t, agent)
				if name != "missing" {
					write(t, p.hooksFile(), text)
				}
				before := tree(t, p.Home)
				apply(t, p.Install)
				p.Program = "/opt/a b/ralph" // an update
				apply(t, p.Install)
				if state, err := p.Status(); state != Current || err != nil {
					t.Errorf("%s, %v", state, err)
				}
				apply(t, p.Uninstall)
				if diff := cmp.Diff(before, tree(t, p.Home)); diff != "" {
					t.Error(diff)
				}
				if state, err := p.Status(); state != Absent || err != nil {
					t.Errorf("%s, %v", state, err)
				}
				if left, _ := os.ReadDir(p.State); len(left) > 0 {
					t.Errorf("left in the state folder: %v", left)
				}
			})
		}
	}
}

func TestUninstallKeepsTheReceiptOfAnotherInstall(t *testing.T) {
	p := newPlace(t, "claude")
	other := p
	other.Agent = "codex"
	apply(t, p.Install)
	apply(t, other.Install)
	apply(t, p.Uninstall)
	if other.readReceipt() == nil {
		t.Error("the other receipt is gone")
	}
}

func TestUninstallKeepsWhatWasChangedSince(t *testing.T) {
	for _, receipt := range []string{"with a receipt", "without a receipt"} {
		t.Run(receipt, func(t *testing.T) {
			p := newPlace(t, "claude")
			apply(t, p.Install)
			text, err := os.ReadFile(p.hooksFile())
			if err != nil {
				t.Fatal(err)
			}
			write(t, p.hooksFile(), strings.Replace(string(text), "{", "{\n  \"model\": \"opus\",", 1))
			edited := filepath.Join(p.folder(), "skills", "ralph-status", "SKILL.md")
			write(t, edited, "my own words\n")
			if receipt == "without a receipt" {
				if err := os.RemoveAll(p.State); err != nil {
					t.Fatal(err)
				}
			}
			plan := apply(t, p.Uninstall)
			want := []string{edited + " stays: it was edited, or is not Ralph's"}
			if diff := cmp.Diff(want, plan.Notes); diff != "" {
				t.Error(diff)
			}
			var files []string
			for name, content := range tree(t, p.Home) {
				if strings.HasPrefix(content, "-") {
					files = append(files, name)
				}
			}
			slices.Sort(files)
			if diff := cmp.Diff([]string{".claude/settings.json", ".claude/skills/ralph-status/SKILL.md"}, files); diff != "" {
				t.Error(diff)
			}
			if text, _ := os.ReadFile(p.hooksFile()); string(text) != "{\n  \"model\": \"opus\"\n}\n" {
				t.Errorf("%q", text)
			}
		})
	}
}

func TestFileOfTheUserIsNotOverwritten(t *testing.T) {
	p := newPlace(t, "claude")
	path := filepath.Join(p.folder(), "commands", "ralph", "goal.md")
	write(t, path, "my own command\n")
	_, err := p.Install()
	if err == nil || err.Error() != path+": "+errNotOwn.Error() {
		t.Error(err)
	}
	if state, _ := p.Status(); state != Unclear {
		t.Error(state)
	}
}

// People keep settings in a repository of dotfiles and link to them.
func TestLinkedSettingsStayLinks(t *testing.T) {
	p := newPlace(t, "claude")
	target := filepath.Join(p.Home, "dotfiles", "settings.json")
	write(t, target, settings["tabs"])
	if err := os.MkdirAll(p.folder(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, p.hooksFile()); err != nil {
		t.Skip(err)
	}
	before := tree(t, p.Home)
	apply(t, p.Install)
	if text, err := os.ReadFile(target); err != nil || !strings.Contains(string(text), "ralph hook stop") {
		t.Errorf("%v: %s", err, text)
	}
	apply(t, p.Uninstall)
	if diff := cmp.Diff(before, tree(t, p.Home)); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(target); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Install(); err == nil || !strings.Contains(err.Error(), "a link to a file that does not exist") {
		t.Error(err)
	}
}

func TestPluginAndInstallExcludeEachOther(t *testing.T) {
	p := newPlace(t, "claude")
	write(t, p.hooksFile(), `{"enabledPlugins": {"ralph@ralph": true}}`)
	if _, err := p.Install(); err == nil || !strings.HasSuffix(err.Error(), "claude plugin uninstall ralph@ralph") {
		t.Error(err)
	}
	if state, err := p.Status(); state != Plugin || err != nil {
		t.Error(state, err)
	}
	write(t, p.hooksFile(), `{"enabledPlugins": {"ralph@ralph": false}}`)
	apply(t, p.Install)
}

func TestOutdated(t *testing.T) {
	p := newPlace(t, "codex")
	p.Program = "/opt/old/ralph"
	apply(t, p.Install)
	p.Program = "/opt/new/ralph"
	if state, err := p.Status(); state != Outdated || err != nil {
		t.Error(state, err)
	}
}

func TestPatch(t *testing.T) {
	c := Change{Path: "/x", Existed: true, Before: []byte("1\n2\n3\n4\n5\n6"), After: []byte("1\n2\n3\n4\nnew\n5\n6")}
	want := "--- /x\n+++ /x\n@@ -2,5 +2,6 @@\n 2\n 3\n 4\n+new\n 5\n 6\n\\ No newline at end of file\n"
	if diff := cmp.Diff(want, c.Patch()); diff != "" {
		t.Error(diff)
	}
	removed := Change{Path: "/x", Existed: true, Before: []byte("1\n"), Remove: true}
	if diff := cmp.Diff("--- /x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-1\n", removed.Patch()); diff != "" {
		t.Error(diff)
	}
}
