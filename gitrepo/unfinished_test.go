package gitrepo_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

func TestUnfinishedListsWhatWasAddedSinceTheBase(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("old.go", "// TODO from before\nsame\nsame\n")
	w.Write("gone.go", "// TODO will go\n")
	base := committedAs(w)
	repo := w.Find()

	w.Write("committed.go", "\t// FIXME: later  \r\n")
	w.Write("with blank.go", "// XXX here\n")
	w.Write("quote\"d\n\x01é.go", "// TODO odd name\n")
	w.Commit()
	w.Write("old.go", "// TODO from before\nsame\n++ b/fake TODO\n-- TODO not removed\n@@ -1 +1 @@ TODO\nsame")
	w.Must(os.Remove(w.Path("gone.go")))
	w.Write("staged.go", "raise NotImplementedError\n")
	w.Git("add", "-A")
	w.Write("new/untracked.go", "x\n  panic(\"not implemented\")\n\t// TODO\tx")
	w.Write("binary", "\x00 TODO\n")
	w.Write("large", "TODO\n"+strings.Repeat("x", 1<<20))
	w.Write(".ralph/tasks.json", "TODO\n")
	w.Write(".agent/PROMPT.md", "TODO\n")
	w.Write("prd.json", "TODO\n")
	w.Write("IMPLEMENTATION_PLAN.md", "TODO\n")
	w.Must(os.Symlink("old.go", w.Path("link")))

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
	if diff := cmp.Diff(want, w.Fingerprint(repo, ralph.TreeInput{BaseHead: base, Claimed: true}).Unfinished); diff != "" {
		t.Errorf("claim (-want +got)\n%s", diff)
	}
	if got := w.Fingerprint(repo, ralph.TreeInput{BaseHead: base}).Unfinished; got != nil {
		t.Errorf("without a claim it is not looked for, but got %q", got)
	}
}

func TestUnfinishedAtTheBaseIsWhatDiffersFromHead(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("old.go", "// TODO committed\n")
	w.Commit()
	w.Write("old.go", "// TODO committed\n// TODO not committed\n")
	w.Write("new.go", "// TODO new\n")
	want := []string{"new.go: // TODO new", "old.go: // TODO not committed"}
	if diff := cmp.Diff(want, w.Fingerprint(w.Find(), ralph.TreeInput{}).Unfinished); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUnfinishedFallsBackToHeadIfTheBaseIsGone(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("new.go", "// TODO new\n")
	got := w.Fingerprint(w.Find(), ralph.TreeInput{BaseHead: strings.Repeat("1", 40), Claimed: true}).Unfinished
	if diff := cmp.Diff([]string{"new.go: // TODO new"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUnfinishedIgnoresHowTheUserLikesDiffs(t *testing.T) {
	w := gittest.NewRepo(t)
	w.Write("below/new.go", "x\n// TODO new\n")
	base := w.Git("rev-parse", "HEAD")
	w.Commit()
	for key, value := range map[string]string{
		"diff.noprefix": "true", "diff.mnemonicPrefix": "true", "diff.relative": "true", "diff.interHunkContext": "9",
		"diff.context": "9",
		"diff.renames": "copies", "color.ui": "always", "diff.orderFile": "missing", "diff.submodule": "log",
		"diff.wsErrorHighlight": "all",
	} {
		w.Git("config", key, value)
	}
	got := w.Fingerprint(w.Find(), ralph.TreeInput{BaseHead: base, Claimed: true}).Unfinished
	if diff := cmp.Diff([]string{"below/new.go: // TODO new"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUnfinishedIsBounded(t *testing.T) {
	w := gittest.NewRepo(t)
	var many, want []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("TODO %03d\nTODO %03d\n", i, i))
		if i < 199 {
			want = append(want, fmt.Sprintf("many: TODO %03d", i))
		}
	}
	w.Write("long", "TODO "+strings.Repeat("é", 500)+"\n"+strings.Repeat("x", 100_000)+" TODO\n")
	w.Write("many", strings.Join(many, ""))
	want = append([]string{"long: TODO " + strings.Repeat("é", 149)}, want...)
	repo := w.Find()
	if diff := cmp.Diff(want, w.Fingerprint(repo, ralph.TreeInput{}).Unfinished); diff != "" {
		t.Errorf("untracked (-want +got)\n%s", diff)
	}
	w.Git("add", "-A")
	if diff := cmp.Diff(want, w.Fingerprint(repo, ralph.TreeInput{}).Unfinished); diff != "" {
		t.Errorf("in the diff (-want +got)\n%s", diff)
	}
}
