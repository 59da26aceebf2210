package gitrepo_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/gitrepo"
)

func TestChanged(t *testing.T) {
	cases := map[string]struct {
		act  func(w workspace)
		want string
	}{
		"nothing":          {func(workspace) {}, "no files changed"},
		"one line":         {func(w workspace) { w.write("kept", "two\n") }, "1 file changed, 1 insertion(+), 1 deletion(-)"},
		"removed":          {func(w workspace) { w.must(os.Remove(w.path("kept"))) }, "1 file changed, 1 deletion(-)"},
		"untracked":        {func(w workspace) { w.write("new", "1\n2\n3") }, "1 file changed, 3 insertions(+), 1 new file"},
		"the same, staged": {func(w workspace) { w.write("new", "1\n2\n3"); w.git("add", "-A") }, "1 file changed, 3 insertions(+), 1 new file"},
		"and committed":    {func(w workspace) { w.write("new", "1\n2\n3"); w.commit() }, "1 file changed, 3 insertions(+), 1 new file"},
		"binary":           {func(w workspace) { w.write("new", "\x00\n\n"); w.commit() }, "1 file changed, 1 new file"},
		"view":             {func(w workspace) { w.write(".ralph/progress.md", "x"); w.git("add", "-A") }, "no files changed"},
		"odd names": {func(w workspace) {
			w.write(":a\n\tb", "1\n")
			w.commit()
			w.write(": A", "2\n")
			w.write("empty", "")
		}, "3 files changed, 2 insertions(+), 3 new files"},
		"renamed": {func(w workspace) { w.git("mv", "kept", "moved") }, "2 files changed, 1 insertion(+), 1 deletion(-), 1 new file"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newRepo(t)
			base := w.git("rev-parse", "HEAD")
			repo := w.find()
			c.act(w)
			if got, err := repo.Changed(t.Context(), base); got != c.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestChangedSinceBeforeTheFirstCommit(t *testing.T) {
	w := newFolder(t)
	w.git("init", "-q")
	repo := w.find()
	w.write("a", "1\n")
	w.commit()
	w.write("b", "2\n")
	if got, err := repo.Changed(t.Context(), ""); got != "2 files changed, 2 insertions(+), 2 new files" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestChangedSinceACommitThatIsGone(t *testing.T) {
	repo := newRepo(t).find()
	if got, err := repo.Changed(t.Context(), strings.Repeat("1", 40)); err == nil {
		t.Errorf("got %q", got)
	}
}

func TestPlainSeesWhatCounts(t *testing.T) {
	cases := map[string]struct {
		act  func(w workspace)
		want bool
	}{
		"nothing":                 {func(workspace) {}, false},
		"edit":                    {func(w workspace) { w.write("a/file", "two") }, true},
		"new file":                {func(w workspace) { w.write("b/new", "") }, true},
		"removal":                 {func(w workspace) { w.must(os.Remove(w.path("a/file"))) }, true},
		"touching without change": {func(w workspace) { w.age("a/file") }, false},
		"large file touched":      {func(w workspace) { w.age("large") }, true},
		"empty folder":            {func(w workspace) { w.at("c") }, false},
		"dependencies":            {func(w workspace) { w.write("a/node_modules/x", "x"); w.write("target/x", "x") }, false},
		"caches":                  {func(w workspace) { w.write(".pytest_cache/x", "x"); w.write("__pycache__/x", "x") }, false},
		"hidden file":             {func(w workspace) { w.write(".env", "x") }, true},
		"the harness's own view":  {func(w workspace) { w.write(".ralph/progress.md", "x") }, false},
		"behind a link":           {func(w workspace) { w.write("../outside/x", "x") }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFolder(t).at("work")
			w.write("a/file", "one")
			w.write("large", strings.Repeat("x", 2<<20))
			w.write("../outside/y", "y")
			w.must(os.Symlink("../outside", w.path("link")))
			plain := &gitrepo.Plain{Dir: w.dir}
			before := w.fingerprint(plain, since)
			if !before.Known || before.Hash == "" || before.Head != "" {
				t.Fatalf("got %+v", before)
			}
			c.act(w)
			if after := w.fingerprint(plain, since); (after.Hash != before.Hash) != c.want {
				t.Errorf("changed is %v", !c.want)
			}
		})
	}
}

func TestPlainThroughALinkIsTheSame(t *testing.T) {
	w := newFolder(t).at("work")
	w.write("file", "x")
	w.must(os.Symlink("work", w.path("../link")))
	direct, linked := w.fingerprint(&gitrepo.Plain{Dir: w.dir}, since), w.fingerprint(&gitrepo.Plain{Dir: w.path("../link")}, since)
	if direct.Hash != linked.Hash {
		t.Errorf("%s and %s", direct.Hash, linked.Hash)
	}
}

func TestPlainReportsWhatItCannotRead(t *testing.T) {
	if state, err := (&gitrepo.Plain{Dir: newFolder(t).path("missing")}).Fingerprint(t.Context(), since); err == nil {
		t.Errorf("missing folder: %+v", state)
	}
	if state, err := (&gitrepo.Plain{Dir: t.TempDir()}).Fingerprint(canceled(t), since); err == nil {
		t.Errorf("canceled: %+v", state)
	}
}
