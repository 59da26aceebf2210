//go:build unix

package pristine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestParseGitConfig(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []gitSetting
	}{
		"plain":       {"[include]\n\tpath = a b \n", []gitSetting{{"include", "path", "a b"}}},
		"one line":    {"\ufeff[Include] Path=a", []gitSetting{{"include", "path", "a"}}},
		"condition":   {"[includeIf \"gitdir:a]\\\"b\"]\r\npath = x\r\n", []gitSetting{{"includeif", "path", "x"}}},
		"old form":    {"[includeIf.onbranch:x]\npath=y", []gitSetting{{"includeif", "path", "y"}}},
		"quotes":      {"[core]\nhooksPath = \"a ; \\\"b\" # c", []gitSetting{{"core", "hookspath", "a ; \"b"}}},
		"quoted end":  {"[a]\nb = \"c \" ", []gitSetting{{"a", "b", "c "}}},
		"two lines":   {"[a]\nb = c\\\nd ; e\nf\n", []gitSetting{{"a", "b", "cd"}, {"a", "f", ""}}},
		"comments":    {"# [x]\n; y\n[a] # b = c\nd = e", []gitSetting{{"a", "d", "e"}}},
		"an error":    {"[a]\nb = \"c\nd = e\n", nil},
		"bad escape":  {"[a]\nb = c\nd = \\x\n", []gitSetting{{"a", "b", "c"}}},
		"no header":   {"[a\nb = c\n", nil},
		"open header": {"[a \"b\n", nil},
		"empty":       {"", nil},
	} {
		if got := parseGitConfig([]byte(c.text)); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// An alias or a hook in a file that git's configuration names decides as one in the configuration does.
func TestFilesThatGitsConfigurationNamesAreAsTheyWere(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		h := newHousehold(t, u)
		h.kept = filepath.Join(u.folder(t), "named")
		write(t, h.dir, map[string]string{
			".git/more":   "[alias]\n\ta = base\n[include]\n\tpath = ~/deep\n",
			".git/config": "[include]\n\tpath = more\n[core]\n\thooksPath = ../own\n\tattributesFile = ~/attributes\n",
		})
		h.change(t, map[string]string{
			".gitconfig": "[includeIf \"onbranch:x\"]\n\tpath = x/y\n[core]\n\texcludesFile = ~/ignore\n",
			"deep":       "deep", "x/y": "y", "ignore": "i", "../own/pre-commit": "hook",
		})
		u.own(t, filepath.Dir(h.dir))
		h.look(t, Overlay, "true")
		for _, name := range []string{"deep", "x/y", "ignore", "attributes", "../own/pre-commit", "../ws/.git/more"} {
			if err := os.WriteFile(filepath.Join(h.home, name), []byte("evil"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		u.own(t, filepath.Dir(h.dir))
		got := h.look(t, Overlay, `cat .git/more; cd "$HOME"; cat deep x/y ignore attributes ../own/pre-commit`)
		same(t, "scene", seen{
			Mode: "overlay", Exits: []int{0},
			Outputs: []string{"[alias]\n\ta = base\n[include]\n\tpath = ~/deep\ndeepyihook"},
			Changed: h.paths("attributes", "deep", "ignore", "x/y", "../own/pre-commit", "ws/.git/more"),
		}, got)
	})
}

// What the configuration named before an earlier run counts, although its agent changed the configuration.
func TestFilesNamedBeforeAnEarlierRun(t *testing.T) {
	top := t.TempDir()
	git := filepath.Join(top, "ws", ".git")
	write(t, top, map[string]string{"ws/.git/config": "[include]\n\tpath = ../../shared\n", "shared": "base"})
	first, second := filepath.Join(top, "first"), filepath.Join(top, "second")
	if _, err := SaveSurroundings(first, nil, []string{git}); err != nil {
		t.Fatal(err)
	}
	write(t, top, map[string]string{"ws/.git/config": ""})
	s, kept, err := SaveAfter(second, nil, []string{git}, Earlier{Folder: first, Working: true})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "kept", []string{filepath.Join(git, "config")}, kept)
	write(t, top, map[string]string{"shared": "evil"})
	same(t, "changed", []string{filepath.Join(top, "shared"), filepath.Join(git, "config")}, s.Changed())
}

// Accepting a configuration accepts what it names, and nothing else that was added.
func TestAcceptedConfigurationNamesFiles(t *testing.T) {
	top := t.TempDir()
	git, home := filepath.Join(top, "ws", ".git"), filepath.Join(top, "home")
	write(t, top, map[string]string{"ws/.git/config": "", "shared": "base", "home/x": ""})
	s, err := SaveSurroundings(filepath.Join(top, "kept"), []string{"HOME=" + home}, []string{git})
	if err != nil {
		t.Fatal(err)
	}
	write(t, top, map[string]string{
		"ws/.git/config": "[include]\n\tpath = ../../shared\n[include]\n\tpath = ~/.profile\n", "home/.profile": "evil",
	})
	if _, err := s.Accept([]string{filepath.Join(git, "config")}); err != nil {
		t.Fatal(err)
	}
	same(t, "changed", []string{filepath.Join(home, ".profile")}, s.Changed())
	write(t, top, map[string]string{"shared": "evil"})
	same(t, "changed", []string{filepath.Join(home, ".profile"), filepath.Join(top, "shared")}, s.Changed())
}
