package deny

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPatternsThatMatchPreciousFolders has patterns as bash understands them, in any part of a path.
func TestPatternsThatMatchPreciousFolders(t *testing.T) {
	compareDecisions(t, map[string][]string{
		whyRoot: {
			"rm -rf ./* ./.[!.]*", "rm -rf .[^.]*", "rm -rf .??*", "rm -rf .[[:alpha:]]*", "rm -rf .g@(it|x)", "rm -rf .gi[!x]",
			"rm -rf @(.git)", "rm -rf @(x|.git)", "shopt -s extglob dotglob; rm -rf !(keep)", "rm -rf ../!(x)",
			"rm -rf /home/s*", "rm -rf /h?me", "rm -rf /h?me/", "rm -rf /*/somebody", "rm -rf /*/*", "rm -rf /[gh]*",
			"rm -rf /s*/w*/p*", "rm -rf ../p*", "rm -rf /!(tmp)", "rm -rf .gi?/obj*", "rm -rf .git/o*/??", "rm -rf ~/?*",
			"shopt -s dotglob; rm -rf *", "shopt -s nullglob dotglob && rm -rf ./*", "GLOBIGNORE=x; rm -rf *",
			"bash -O dotglob -c 'rm -rf *'", "find . -name '.[!x]it' -delete",
		},
		whyMove:   {"mv .gi? x", "mv /h?me /tmp", "shopt -s dotglob; mv * /tmp"},
		whyInside: {"echo x > .gi?/config"},
		"": {
			"rm -rf *", "rm -rf ./b*", "rm -rf /tmp/*/x", "rm -rf [a-f]*", "rm -rf .c*", "rm -rf /home/m*", "rm -rf .[!g]*",
			"shopt -s dotglob; shopt -u dotglob; rm -rf *", "shopt -s nullglob; rm -rf *", "rm -rf .git/rebase-*",
			"rm -rf !(keep)",
			"shopt -s extglob dotglob; rm -rf !(.git)", "shopt -s extglob; rm -rf !(.git|x)", "rm -rf @(a|b)", "rm -rf *.@(o|a)",
			"(shopt -s dotglob; ls *); rm -rf *", "rm -rf build[1", "find . -name '*.[!o]' -delete",
		},
	})
	at := Place{Dir: "/x/[work]/p", Home: testHome}
	for command, want := range map[string]string{"rm -rf .git": whyRoot, "rm -rf *": "", "rm -rf /x/*/p": whyRoot} {
		if got := decideAt(command, at); got != want {
			t.Errorf("%q in %s:\n got %q\nwant %q", command, at.Dir, got, want)
		}
	}
}

// TestTheHomeFolderIsFollowed has a ~ wherever a shell replaces it.
func TestTheHomeFolderIsFollowed(t *testing.T) {
	compareDecisions(t, map[string][]string{
		whyRoot: {
			"for d in ~ x; do rm -rf $d; done", `f(){ rm -rf "$1"; }; f ~`, `set -- ~; rm -rf "$1"`,
			`arr=(~ b); rm -rf "${arr[@]}"`, `bash -c 'rm -rf "$1"' _ ~`, "echo ~ | xargs rm -rf", "rm -rf ${X:-~}",
			"a=(); a[0]=~; rm -rf ${a[0]}", "eval rm -rf ~", "rm -rf {x,~}", "H=~/x; rm -rf $H/..", "env H=~ sh -c 'rm -rf $H'",
			"cd ~; rm -rf *", "rm -rf ~+", "rm -rf ~+/.git", "cd /tmp; rm -rf ~-", "HOME=/; rm -rf ~", "export H=~; rm -rf $H",
			"x='~'; eval rm -rf $x",
		},
		whyInside:    {"HOME=$PWD; echo x > ~/.git/config", "cd sub; echo x | tee ~-/.git/config"},
		undetermined: {"rm -rf ~me", "rm -rf ~me/*", "unset HOME; rm -rf ~", "rm -rf ~1", "cd ~me; rm -rf .git"},
		"": {
			"rm -rf ~/x", "rm -rf '~'", `rm -rf \~`, `x='~'; rm -rf $x`, "rm -rf ~+/build", "rm -rf ~me/build",
			"echo '~' | xargs rm -rf",
			"ls ~me", "HOME=/tmp/x; rm -rf ~/*", `rm -rf "${X:-~/x}"/build`, "~/bin/tool ~/x", "rm -rf x~ ~\"x\"",
		},
	})
}

// TestForcedGitRemovals discard edits like git restore.
func TestForcedGitRemovals(t *testing.T) {
	compareDecisions(t, map[string][]string{
		whyMany:      {"git rm -rf .", "git rm -r -f src", "git rm --force -r -- '*.go'", "git rm -rf a.go ."},
		undetermined: {"git rm -rf \"$X\"", "git rm -f --pathspec-from-file=x"},
		"": {
			"git rm -r .", "git rm -f a.go", "git rm -rf --cached .", "git rm -r --cached .", "git rm -rfn .", "git rm x",
		},
	})
}

func TestGitCommandsAreWhole(t *testing.T) {
	for _, name := range gitCommands {
		if strings.HasSuffix(name, "-") {
			t.Errorf("%s is half a name", name)
		}
	}
	for _, name := range []string{"cherry-pick", "interpret-trailers", "merge-base"} {
		if !slices.Contains(gitCommands, name) {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestCopiedStatesAreLimited has commands whose states grow with every step, which took time that
// grew with the square of their length.
func TestCopiedStatesAreLimited(t *testing.T) {
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, heavy := range []string{
		repeat(3000, "if x; then a%d=1; fi; ") + ":", repeat(6000, "a%d=1 && ") + ":", repeat(6000, "a%d=1 || ") + ":",
	} {
		if got := Check(heavy, followedPlace); got != (Answer{Undetermined, whyTired}) {
			t.Errorf("%.30s: %+v", heavy, got)
		}
		if got := decide(heavy + "; rm -rf .git"); got != whyRoot {
			t.Errorf("%.30s before a deletion: %q", heavy, got)
		}
	}
	if got := decide(repeat(60, "if x; then a%d=1; fi; ") + "make"); got != "" {
		t.Errorf("sixty conditions: %q", got)
	}
}
