package gitrepo_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestUnfinishedListsWhatWasAddedSinceTheBase(t *testing.T) {
	w := newRepo(t)
	w.write("old.go", "// TODO from before\nsame\nsame\n")
	w.write("gone.go", "// TODO will go\n")
	base := w.committedAs()
	repo := w.find()

	w.write("committed.go", "\t// FIXME: later  \r\n")
	w.write("with blank.go", "// XXX here\n")
	w.write("quote\"d\n\x01é.go", "// TODO odd name\n")
	w.commit()
	w.write("old.go", "// TODO from before\nsame\n++ b/fake TODO\n-- TODO not removed\n@@ -1 +1 @@ TODO\nsame")
	w.must(os.Remove(w.path("gone.go")))
	w.write("staged.go", "raise NotImplementedError\n")
	w.git("add", "-A")
	w.write("new/untracked.go", "x\n  panic(\"not implemented\")\n\t// TODO\tx")
	w.write("binary", "\x00 TODO\n")
	w.write("large", "TODO\n"+strings.Repeat("x", 1<<20))
	w.write(".ralph/tasks.json", "TODO\n")
	w.write(".agent/PROMPT.md", "TODO\n")
	w.write("prd.json", "TODO\n")
	w.write("IMPLEMENTATION_PLAN.md", "TODO\n")
	w.must(os.Symlink("old.go", w.path("link")))

	want := []string{
		"committed.go: // FIXME: later",
		"new/untracked.go: // TODO x",
		`new/untracked.go: panic("not implemented")`,
		"old.go: ++ b/fake TODO",
		"old.go: -- TODO not removed",
		"old.go: @@ -1 +1 @@ TODO",
		"quote\"dé.go: // TODO odd name",
		"staged.go: raise NotImplementedError",
		"with blank.go: // XXX here",
	}
	if diff := cmp.Diff(want, w.fingerprint(repo, ralph.TreeInput{BaseHead: base, Claimed: true}).Unfinished); diff != "" {
		t.Errorf("claim (-want +got)\n%s", diff)
	}
	if got := w.fingerprint(repo, ralph.TreeInput{BaseHead: base}).Unfinished; got != nil {
		t.Errorf("without a claim it is not looked for, but got %q", got)
	}
}

func TestUnfinishedAtTheBaseIsWhatDiffersFromHead(t *testing.T) {
	w := newRepo(t)
	w.write("old.go", "// TODO committed\n")
	w.commit()
	w.write("old.go", "// TODO committed\n// TODO not committed\n")
	w.write("new.go", "// TODO new\n")
	want := []string{"new.go: // TODO new", "old.go: // TODO not committed"}
	if diff := cmp.Diff(want, w.fingerprint(w.find(), ralph.TreeInput{}).Unfinished); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUnfinishedFallsBackToHeadIfTheBaseIsGone(t *testing.T) {
	w := newRepo(t)
	w.write("new.go", "// TODO new\n")
	got := w.fingerprint(w.find(), ralph.TreeInput{BaseHead: strings.Repeat("1", 40), Claimed: true}).Unfinished
	if diff := cmp.Diff([]string{"new.go: // TODO new"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUnfinishedIgnoresHowTheUserLikesDiffs(t *testing.T) {
	w := newRepo(t)
	w.write("below/new.go", "x\n// TODO new\n")
	base := w.git("rev-parse", "HEAD")
	w.commit()
	for key, value := range map[string]string{
		"diff.noprefix": "true", "diff.mnemonicPrefix": "true", "diff.relative": "true", "diff.interHunkContext": "9", "diff.context": "9",
		"diff.renames": "copies", "color.ui": "always", "diff.orderFile": "missing", "diff.submodule": "log", "diff.wsErrorHighlight": "all",
	} {
		w.git("config", key, value)
	}
	got := w.fingerprint(w.find(), ralph.TreeInput{BaseHead: base, Claimed: true}).Unfinished
	if diff := cmp.Diff([]string{"below/new.go: // TODO new"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUnfinishedIsBounded(t *testing.T) {
	w := newRepo(t)
	var many, want []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("TODO %03d\nTODO %03d\n", i, i))
		if i < 199 {
			want = append(want, fmt.Sprintf("many: TODO %03d", i))
		}
	}
	w.write("long", "TODO "+strings.Repeat("é", 500)+"\n"+strings.Repeat("x", 100_000)+" TODO\n")
	w.write("many", strings.Join(many, ""))
	want = append([]string{"long: TODO " + strings.Repeat("é", 149)}, want...)
	repo := w.find()
	if diff := cmp.Diff(want, w.fingerprint(repo, ralph.TreeInput{}).Unfinished); diff != "" {
		t.Errorf("untracked (-want +got)\n%s", diff)
	}
	w.git("add", "-A")
	if diff := cmp.Diff(want, w.fingerprint(repo, ralph.TreeInput{}).Unfinished); diff != "" {
		t.Errorf("in the diff (-want +got)\n%s", diff)
	}
}
