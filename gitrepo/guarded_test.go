package gitrepo_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/internal/shell"
)

// ordinary is what an agent does with git in a workspace.
const ordinary = `set -e
git add -A
git commit -qm one
git switch -qc topic
echo topic >topic
git add topic
git commit -qm topic
echo stashed >>topic
git stash -q
git stash pop -q
git commit -qam stashed
git switch -q -
echo more >more
git add more
git commit -qm more
git switch -q topic
git rebase -q -
git tag v1
git branch -q spare
git branch -qD spare
git status --porcelain
git log -1 --format=%s
`

// enclosed returns a script that runs another one with everything guarded, in a mount namespace.
func enclosed(w gittest.Workspace, script string) string {
	w.Helper()
	g := w.Find().Guarded(w.Context())
	var all strings.Builder
	all.WriteString("set -e\n")
	for _, path := range g.Writable {
		fmt.Fprintf(&all, "mount --bind %[1]s %[1]s\n", shell.Quote(path))
	}
	for _, path := range g.Absent {
		w.Must(os.MkdirAll(filepath.Dir(path), 0o700))
		w.Must(os.WriteFile(path, nil, 0o600))
	}
	for _, path := range slices.Concat(g.ReadOnly, g.Absent) {
		fmt.Fprintf(&all, "mount --bind %[1]s %[1]s; mount -o remount,bind,ro %[1]s\n", shell.Quote(path))
	}
	fmt.Fprintf(&all, "cd %s\n%s", shell.Quote(w.Dir), script)
	return all.String()
}

func inNamespace(t *testing.T, script string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "unshare", "--map-root-user", "--mount", "sh", "-c", script)
	command.Env = gittest.Program().Env
	out, err := command.CombinedOutput()
	return string(out), err
}

// layouts are the ways in which a working tree can have its git folder.
var layouts = map[string]func(t *testing.T) gittest.Workspace{
	"main checkout": func(t *testing.T) gittest.Workspace { return gittest.NewRepo(t) },
	"linked worktree": func(t *testing.T) gittest.Workspace {
		w := gittest.NewRepo(t)
		w.Git("worktree", "add", "-q", w.Dir+"-other", "-b", "other")
		w.Git("worktree", "add", "-q", w.Dir+"-linked", "-b", "linked")
		t.Cleanup(func() { os.RemoveAll(w.Dir + "-other"); os.RemoveAll(w.Dir + "-linked") })
		w.Dir += "-linked"
		return w
	},
	"separate git folder": func(t *testing.T) gittest.Workspace {
		w := gittest.NewRepo(t)
		w.Git("init", "-q", "--separate-git-dir", filepath.Join(t.TempDir(), "apart.git"))
		return w
	},
	"with a submodule": withSubmodule,
	"inside a submodule": func(t *testing.T) gittest.Workspace {
		w := withSubmodule(t)
		w.Dir = w.Path("sub")
		return w
	},
}

func withSubmodule(t *testing.T) gittest.Workspace {
	t.Helper()
	w, other := gittest.NewRepo(t), gittest.NewRepo(t)
	w.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.Dir, "sub")
	w.Commit()
	return w
}

func TestGitWorksWithEverythingGuardedAndPlantsNothing(t *testing.T) {
	if out, err := inNamespace(t, "mount --bind /tmp /tmp"); err != nil {
		t.Skipf("no mount namespaces here: %s", out)
	}
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			w := layout(t)
			w.Write("new", "new\n")
			out, err := inNamespace(t, enclosed(w, ordinary))
			if err != nil || !strings.HasSuffix(out, "\nstashed\n") {
				t.Errorf("%v: %s", err, out)
			}
			for _, attack := range []string{
				"git config core.fsmonitor evil",
				"git config --worktree core.fsmonitor evil",
				`echo evil >"$(git rev-parse --git-common-dir)/hooks/pre-commit"`,
				`echo "* filter=evil" >"$(git rev-parse --git-common-dir)/info/attributes"`,
				`! test -f "$(git rev-parse --git-dir)/commondir" || echo /tmp >"$(git rev-parse --git-dir)/commondir"`,
				`echo /tmp >"$(git rev-parse --git-common-dir)/objects/info/alternates"`,
				`mv "$(git rev-parse --git-common-dir)" moved`,
				`rm -rf "$(git rev-parse --git-common-dir)/config"`,
				`test -d .git || echo gitdir: /tmp >.git`,
				`test -d .git || mv .git moved`,
			} {
				missing := strings.Contains(attack, "! test -f") && name != "linked worktree" ||
					strings.Contains(attack, "test -d .git") && (name == "main checkout" || name == "with a submodule")
				if missing {
					continue
				}
				if out, err := inNamespace(t, enclosed(w, "set +e\n"+attack)); err == nil {
					t.Errorf("%s: worked: %s", attack, out)
				}
			}
		})
	}
}
