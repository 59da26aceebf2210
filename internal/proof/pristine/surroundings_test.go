//go:build unix

package pristine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// household is a home, a workspace with a git folder, and what was saved of them before an agent
// started.
type household struct {
	user            user
	home, dir, kept string
}

func newHousehold(t *testing.T, u user) household {
	t.Helper()
	top := u.folder(t)
	h := household{
		user: u, home: filepath.Join(top, "home [x]"), dir: filepath.Join(top, "ws"),
		kept: filepath.Join(u.folder(t), "kept"),
	}
	write(
		t,
		h.home,
		map[string]string{
			".bashrc":            "rc",
			".npmrc":             "npm",
			".gitconfig":         "[user]\n\tname = Base\n",
			".config/git/config": "[user]\n\temail = base@x\n",
			".config/go/env":     "GOFLAGS=-v\n",
			"dotfiles/zshrc":     "zsh",
			".zshrc":             "-> dotfiles/zshrc",
			".local/lib/python3.11/site-packages/a.pth": "a",
			".gemrc": "gem",
			".irbrc": "irb",
		},
	)
	write(t, h.dir, map[string]string{
		".git/config": "[core]\n\tbare = false\n", ".git/hooks/pre-commit": "#!/bin/sh\necho base",
		".git/hooks/x.sample": "s", "test": "t",
	})
	write(t, top, map[string]string{"tool": "#!/bin/sh\nexit 1"})
	u.own(t, top)
	h.look(t, Overlay, "true")
	return h
}

// look runs scripts in a view.
func (h *household) look(t *testing.T, mode Mode, scripts ...string) seen {
	t.Helper()
	return h.user.act(t, scene{Options: Options{
		Dir: h.dir, Folder: h.user.folder(t), Mode: mode,
		Files: []string{"test"},
	},
		Scripts: scripts, Env: []string{"HOME=" + h.home}, Remember: h.kept, GitDirs: []string{filepath.Join(h.dir, ".git")}})
}

func (h *household) paths(names ...string) []string {
	for i, name := range names {
		if rest, ok := strings.CutPrefix(name, "ws/"); ok {
			names[i] = filepath.Join(h.dir, rest)
		} else {
			names[i] = filepath.Join(h.home, name)
		}
	}
	return names
}

func (h *household) change(t *testing.T, files map[string]string) {
	t.Helper()
	for name := range files {
		os.Remove(filepath.Join(h.home, name))
	}
	write(t, h.home, files)
	h.user.own(t, h.home)
}

func TestUnchangedSurroundingsAreLeftAlone(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		h := newHousehold(t, u)
		got := h.look(
			t, Overlay,
			"env | grep -E '^(GIT_|GOENV|NPM_|PIP_)'; grep -c home /proc/self/mountinfo; echo more >> "+
				"\"$HOME/.bashrc\"; cat \"$HOME/.bashrc\"",
		)
		same(t, "scene", seen{Mode: "overlay", Exits: []int{0}, Outputs: []string{"0\nrcmore\n"}}, got)
	})
}

func TestChangedSurroundingsAreAsTheyWere(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		h := newHousehold(t, u)
		h.change(
			t,
			map[string]string{
				".bashrc":        "alias go=true",
				".npmrc":         "script-shell=/bin/true",
				"dotfiles/zshrc": "evil",
				".profile":       "added",
				".config/go/env": "GOFLAGS=-run=^$",
				".local/lib/python3.11/site-packages/b.pth": "import os; os._exit(0)",
			},
		)
		os.Remove(filepath.Join(h.home, ".gitconfig"))
		os.Remove(filepath.Join(h.home, ".gemrc"))
		write(t, h.dir, map[string]string{".git/hooks/post-checkout": "#!/bin/sh\necho evil"})
		for name, text := range map[string]string{
			".git/config": "[core]\n\thooksPath = /evil\n", ".git/hooks/pre-commit": "#!/bin/sh\necho evil",
		} {
			if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		u.own(t, h.dir)
		script := `cd "$HOME"
cat .bashrc .npmrc .zshrc .profile .config/go/env .local/lib/python3.11/site-packages/b.pth; echo
cat "$GIT_CONFIG_GLOBAL"
cat "$OLDPWD/.git/config"; ls "$OLDPWD/.git/hooks"; "$OLDPWD/.git/hooks/pre-commit"; echo spoil >> .bashrc`
		want := "rcnpmzshGOFLAGS=-v\n\n[user]\n\temail = base@x\n\n[user]\n\tname = Base\n\n[core]\n\tbare = " +
			"false\npre-commit\nx.sample\nbase\n"
		changed := append(h.paths(
			".bashrc", ".config/go/env", ".gemrc", ".gitconfig", ".local/lib/python3.11/site-packages/b.pth", ".npmrc",
			".profile", ".zshrc",
		),
			h.paths("ws/.git/config", "ws/.git/hooks/post-checkout", "ws/.git/hooks/pre-commit")...)
		after := look(t, h.home)
		for range 2 { // what a check does to a copy is gone with the view
			got := h.look(t, Overlay, script)
			same(
				t, "scene",
				seen{Mode: "overlay", Exits: []int{0}, Outputs: []string{want}, Changed: changed, Unhidden: h.paths(".gemrc")},
				got,
			)
		}
		same(t, "home", after, look(t, h.home))

		got := h.look(t, Copy, `cat "$NPM_CONFIG_USERCONFIG" "$GOENV"; echo; grep name "$GIT_CONFIG_GLOBAL"`)
		same(t, "scene of a copy", seen{Exits: []int{0}, Outputs: []string{
			"npm\nGOFLAGS=-v\n\n\n\tname = Base\n",
		}, Changed: changed,
			Unhidden: append(
				h.paths(".bashrc", ".gemrc", ".local/lib/python3.11/site-packages/b.pth", ".profile", ".zshrc"),
				changed[8:]...,
			)}, got)
	})
}

// A link made by the agent must not make a view hide the link's target.
func TestLinkedSurroundingsDoNotHideWhatTheyLeadTo(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		h := newHousehold(t, u)
		tool := filepath.Join(filepath.Dir(h.dir), "tool")
		h.change(t, map[string]string{
			".rspec": "-> " + tool, ".irbrc": "-> " + tool, ".yarnrc": "-> " + filepath.Join(h.dir, "test"),
			".npmrc": "-> " + tool, ".gemrc": "-> /dev/zero",
		})
		got := h.look(t, Overlay, "cat test; "+tool+`; echo $?; cat "$NPM_CONFIG_USERCONFIG"`)
		same(t, "scene", seen{Mode: "overlay", Exits: []int{0}, Outputs: []string{"t1\nnpm\n"}, Changed: h.paths(
			".gemrc", ".irbrc", ".npmrc", ".rspec", ".yarnrc",
		),
			Unhidden: h.paths(".gemrc", ".irbrc", ".rspec", ".yarnrc")}, got)
	})
}

// A user who works on dotfiles wants checks to see that work.
func TestSurroundingsInTheTreeAreTheTreesMatter(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		h := newHousehold(t, u)
		h.dir = filepath.Join(h.home, "dotfiles")
		h.change(t, map[string]string{"dotfiles/zshrc": "better"})
		got := h.look(t, Overlay, "cat zshrc")
		same(t, "scene", seen{Mode: "overlay", Exits: []int{0}, Outputs: []string{"better"}, Changed: h.paths(".zshrc")}, got)
	})
}
