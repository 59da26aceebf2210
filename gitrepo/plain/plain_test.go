package plain_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/plain"
)

func TestPlainSeesWhatCounts(t *testing.T) {
	cases := map[string]struct {
		act  func(w gittest.Workspace)
		want bool
	}{
		"nothing":                 {func(gittest.Workspace) {}, false},
		"edit":                    {func(w gittest.Workspace) { w.Write("a/file", "two") }, true},
		"new file":                {func(w gittest.Workspace) { w.Write("b/new", "") }, true},
		"removal":                 {func(w gittest.Workspace) { w.Must(os.Remove(w.Path("a/file"))) }, true},
		"touching without change": {func(w gittest.Workspace) { w.Age("a/file") }, false},
		"large file touched":      {func(w gittest.Workspace) { w.Age("large") }, true},
		"empty folder":            {func(w gittest.Workspace) { w.At("c") }, false},
		"dependencies": {
			func(w gittest.Workspace) { w.Write("a/node_modules/x", "x"); w.Write("target/x", "x") },
			false,
		},
		"caches": {
			func(w gittest.Workspace) { w.Write(".pytest_cache/x", "x"); w.Write("__pycache__/x", "x") },
			false,
		},
		"hidden file":            {func(w gittest.Workspace) { w.Write(".env", "x") }, true},
		"the harness's own view": {func(w gittest.Workspace) { w.Write(".ralph/progress.md", "x") }, false},
		"behind a link":          {func(w gittest.Workspace) { w.Write("../outside/x", "x") }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewFolder(t).At("work")
			w.Write("a/file", "one")
			w.Write("large", strings.Repeat("x", 2<<20))
			w.Write("../outside/y", "y")
			w.Must(os.Symlink("../outside", w.Path("link")))
			plain := &plain.Tree{Dir: w.Dir}
			before := w.Fingerprint(plain, gittest.Since)
			if !before.Known || before.Hash == "" || before.Head != "" {
				t.Fatalf("got %+v", before)
			}
			c.act(w)
			if after := w.Fingerprint(plain, gittest.Since); (after.Hash != before.Hash) != c.want {
				t.Errorf("changed is %v", !c.want)
			}
		})
	}
}

func TestPlainThroughALinkIsTheSame(t *testing.T) {
	w := gittest.NewFolder(t).At("work")
	w.Write("file", "x")
	w.Must(os.Symlink("work", w.Path("../link")))
	direct, linked := w.Fingerprint(
		&plain.Tree{Dir: w.Dir},
		gittest.Since,
	), w.Fingerprint(
		&plain.Tree{Dir: w.Path("../link")},
		gittest.Since,
	)
	if direct.Hash != linked.Hash {
		t.Errorf("%s and %s", direct.Hash, linked.Hash)
	}
}

func TestPlainReportsWhatItCannotRead(t *testing.T) {
	if state, err := (&plain.Tree{Dir: gittest.NewFolder(t).Path("missing")}).Fingerprint(t.Context(),
		gittest.Since); err == nil {
		t.Errorf("missing folder: %+v", state)
	}
	if state, err := (&plain.Tree{Dir: t.TempDir()}).Fingerprint(gittest.Canceled(t), gittest.Since); err == nil {
		t.Errorf("canceled: %+v", state)
	}
}

// clockStep is longer than times of files are coarse.
const clockStep = 20 * time.Millisecond

func TestStampSeesWhatWasUndone(t *testing.T) {
	none := func(string) bool { return false }
	for name, test := range map[string]struct {
		act      func(w gittest.Workspace)
		leaveOut func(string) bool
		last     string // "" if nothing changed
	}{
		"nothing":         {func(gittest.Workspace) {}, none, ""},
		"the same again":  {func(w gittest.Workspace) { w.Write("a/file", "one") }, none, "a/file"},
		"its time":        {func(w gittest.Workspace) { w.Age("a/file") }, none, "a/file"},
		"new and removed": {func(w gittest.Workspace) { w.Write("a/x", ""); w.Must(os.Remove(w.Path("a/x"))) }, none, "a/"},
		"at the top":      {func(w gittest.Workspace) { w.Write("x", ""); w.Must(os.Remove(w.Path("x"))) }, none, "."},
		"a cache":         {func(w gittest.Workspace) { w.Write("target/x", "two") }, none, ""},
		"left out": {func(w gittest.Workspace) { w.Write("a/file", "two") },
			func(name string) bool { return name == "a/file" }, ""},
		"in a folder that is left out": {func(w gittest.Workspace) { w.Write("a/new", "two") },
			func(name string) bool { return name == "a/" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := gittest.NewFolder(t).At("work")
			w.Write("a/file", "one")
			w.Write("target/x", "one")
			tree := &plain.Tree{Dir: w.Dir}
			before, err := tree.Stamp(t.Context(), test.leaveOut)
			w.Must(err)
			time.Sleep(clockStep)
			test.act(w)
			after, err := tree.Stamp(t.Context(), test.leaveOut)
			w.Must(err)
			if (before.ID == after.ID) != (test.last == "") || test.last != "" && after.Last != test.last {
				t.Errorf("%+v, then %+v", before, after)
			}
		})
	}
}
