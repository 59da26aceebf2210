package snapshot_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/plain"
)

// copier is a tree that keeps copies.
type copier interface {
	ralph.Tree
	ralph.Snapshots
}

// kept is a workspace and what keeps copies of it.
type kept struct {
	gittest.Workspace
	copies copier
}

// copiers are all that keep copies, of an empty workspace each.
var copiers = map[string]func(t *testing.T) kept{
	"git": func(t *testing.T) kept {
		w := gittest.NewFolder(t)
		w.Git("init", "-q", "-b", "main")
		k, _ := newKeeper(w)
		return kept{w, k}
	},
	"git below": func(t *testing.T) kept {
		top := gittest.NewRepo(t)
		w := top.At("in ner/deep")
		top.Write("in ner/deeper", "beside\n")
		k, _ := newKeeper(w)
		return kept{w, k}
	},
	"without git": func(t *testing.T) kept {
		w := gittest.NewFolder(t)
		k, err := (&plain.Tree{Dir: w.Dir}).Keep(filepath.Join(gittest.NewFolder(t).Dir, "copies"))
		w.Must(err)
		return kept{w, k}
	},
}

// overCopiers runs a test for everything that keeps copies.
func overCopiers(t *testing.T, test func(t *testing.T, k kept)) {
	t.Helper()
	for name, build := range copiers {
		t.Run(name, func(t *testing.T) {
			test(t, build(t))
		})
	}
}

// input asks for a copy of a tree in the middle of a run.
var input = ralph.TreeInput{Run: "run", Iteration: 1, BaseHead: "HEAD"}

func (k kept) take() string {
	k.Helper()
	state := k.Fingerprint(k.copies, input)
	if state.Snapshot == "" || len(state.Omitted) > 0 {
		k.Fatalf("copy %q, left %q", state.Snapshot, state.Omitted)
	}
	return state.Snapshot
}

// changes is what differs between two copies, as "kind name".
func (k kept) changes(from, to string) []string {
	k.Helper()
	found, err := k.copies.Changes(k.Context(), from, to)
	k.Must(err)
	var said []string
	for _, change := range found {
		said = append(said, string(change.Kind)+" "+change.Name)
	}
	return said
}

// extracted is what a copy holds of some names, written to a new folder.
func (k kept) extracted(id string, names []string) map[string]string {
	k.Helper()
	to := gittest.Workspace{TB: k.TB, Dir: filepath.Join(gittest.NewFolder(k.TB).Dir, "new", "folder")}
	k.Must(k.copies.Extract(k.Context(), id, to.Dir, names))
	return treeOf(to)
}

func (k kept) wantEqual(what string, want, got any) {
	k.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		k.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// whole wants a copy to hold exactly these files.
func (k kept) whole(what, id string, want map[string]string) {
	k.Helper()
	names, err := k.copies.Files(k.Context(), id)
	k.Must(err)
	sorted := make([]string, 0, len(want))
	for name := range want {
		sorted = append(sorted, filepath.ToSlash(name))
	}
	slices.Sort(sorted)
	k.wantEqual(what+": files", sorted, append([]string{}, names...))
	k.wantEqual(what+": extracted", want, k.extracted(id, nil))
}

// read wants to read these files of a copy.
func (k kept) read(id string, want map[string]string) {
	k.Helper()
	for name, text := range want {
		_, content, _ := strings.Cut(text, " ")
		got, err := k.copies.Read(k.Context(), id, filepath.ToSlash(name), len(content)+1)
		k.Must(err)
		k.wantEqual("read "+name, content, string(got))
	}
}

func TestCopiesTellWhatChanged(t *testing.T) {
	cases := map[string]struct {
		before, script string
		want           []string
	}{
		"nothing": {before: "echo a >a", script: "true"},
		"touched": {before: "echo a >a; touch -d '2 hours ago' a", script: "touch a"},
		"added": {
			before: "echo b >b",
			script: "echo a >a; mkdir -p c/d; echo e >c/d/e",
			want:   []string{"added a", "added c/d/e"},
		},
		"changed":      {before: "echo a >a", script: "echo b >a", want: []string{"changed a"}},
		"deleted":      {before: "mkdir a; echo b >a/b; echo c >c", script: "rm -r a", want: []string{"deleted a/b"}},
		"all deleted":  {before: "echo a >a", script: "rm a", want: []string{"deleted a"}},
		"first":        {before: "true", script: "echo a >a", want: []string{"added a"}},
		"empty folder": {before: "echo a >a", script: "mkdir b"},
		"renamed":      {before: "echo a >a", script: "mv a b", want: []string{"deleted a", "added b"}},
		"mode": {
			before: "echo a >a; echo b >b; chmod +x b",
			script: "chmod +x a; chmod -x b",
			want:   []string{"changed a", "changed b"},
		},
		"file to link":  {before: "printf b >a; echo b >b", script: "ln -sf b a", want: []string{"changed a"}},
		"link to file":  {before: "ln -s b a; echo b >b", script: "rm a; printf b >a", want: []string{"changed a"}},
		"link retarget": {before: "ln -s b a; echo b >b", script: "ln -sfn c a", want: []string{"changed a"}},
		"file to folder": {
			before: "echo a >a; echo x >a.x",
			script: "rm a; mkdir a; echo b >a/b; echo y >a.x",
			want:   []string{"deleted a", "changed a.x", "added a/b"},
		},
		"folder to file": {
			before: "mkdir a; echo b >a/b",
			script: "rm -r a; echo a >a",
			want:   []string{"added a", "deleted a/b"},
		},
		"folder to link": {
			before: "mkdir a; echo b >a/b",
			script: "mv a c; ln -s c a",
			want:   []string{"added a", "deleted a/b", "added c/b"},
		},
		"outer link": {
			before: "mkdir a; echo b >a/b",
			script: "rm -r a; ln -s / a",
			want:   []string{"added a", "deleted a/b"},
		},
		"bytes": {
			before: `printf 'a\r\n' >a; echo '* text=auto eol=lf' >.gitattributes`,
			script: `printf 'a\n' >a; printf '$ID$\0\r\n' >b`,
			want:   []string{"changed a", "added b"},
		},
	}
	// Each case has a folder of its own, and all of them two copies: those cost the most.
	overCopiers(t, func(t *testing.T, k kept) {
		var want []string
		for name, changed := range cases {
			k.At(name).Sh(changed.before)
			for _, change := range changed.want {
				kind, file, _ := strings.Cut(change, " ")
				want = append(want, kind+" "+name+"/"+file)
			}
		}
		slices.SortFunc(want, byName)
		before := treeOf(k.Workspace)
		from := k.take()
		for name, changed := range cases {
			k.At(name).Sh(changed.script)
		}
		after := treeOf(k.Workspace)
		to := k.take()

		k.wantEqual("changes", want, k.changes(from, to))
		k.whole("before", from, before)
		k.whole("after", to, after)
		joined, err := k.copies.Join(k.Context(), from, from, to)
		k.Must(err)
		k.wantEqual("joined", []string(nil), k.changes(to, joined))
		back, err := k.copies.Join(k.Context(), to, to, from)
		k.Must(err)
		k.wantEqual("back", []string(nil), k.changes(from, back))
	})
}

// byName orders changes by the file that they are of.
func byName(a, b string) int {
	_, a, _ = strings.Cut(a, " ")
	_, b, _ = strings.Cut(b, " ")
	return strings.Compare(a, b)
}

func TestCopiesOfOddNames(t *testing.T) {
	overCopiers(t, func(t *testing.T, k kept) {
		names := []string{"blank name", " ", "-dash/--", "plain"}
		if runtime.GOOS != "windows" {
			names = append(names, "line\nbreak", "tab\tstop", `quo"te's`, `back\slash`, "ümlaut/日本", "*", "[z]*", ":colon",
				":(top)y", ":!x", "a/...", "HEAD:x", "..a/..b")
		}
		if runtime.GOOS == "linux" {
			names = append(names, "not\xffutf8")
		}
		from := k.take()
		for i, name := range names {
			k.Write(name, fmt.Sprintf("content %d\n", i))
		}
		to := k.take()
		want := treeOf(k.Workspace)
		k.whole("odd", to, want)
		k.read(to, want)
		var added []string
		slices.Sort(names)
		for _, name := range names {
			added = append(added, "added "+name)
			k.wantEqual(
				"one",
				map[string]string{filepath.FromSlash(name): want[filepath.FromSlash(name)]},
				k.extracted(to, []string{name}),
			)
		}
		k.wantEqual("changes", added, k.changes(from, to))
	})
}

func TestCopiesOfNothing(t *testing.T) {
	overCopiers(t, func(t *testing.T, k kept) {
		id := k.take()
		k.whole("empty", id, map[string]string{})
		k.wantEqual("changes", []string(nil), k.changes(id, id))
		joined, err := k.copies.Join(k.Context(), id, id, id)
		k.Must(err)
		k.wantEqual("joined", id, joined)

		k.Write("a/b", "b")
		full := k.take()
		k.wantEqual("first", []string{"added a/b"}, k.changes(id, full))
		k.wantEqual("last", []string{"deleted a/b"}, k.changes(full, id))
		emptied, err := k.copies.Join(k.Context(), full, full, id)
		k.Must(err)
		k.whole("emptied", emptied, map[string]string{})
	})
}

func TestCopiesRead(t *testing.T) {
	overCopiers(t, func(t *testing.T, k kept) {
		k.Write("a/file", "0123456789")
		k.Script("run", "exit 0")
		k.Must(os.Symlink("a", k.Path("link")))
		was := treeOf(k.Workspace)
		id := k.take()
		k.read(id, was)
		k.Write("a/file", "later")
		k.Write("b", "later")
		k.take()
		for limit, want := range map[int]string{0: "", 1: "0", 10: "0123456789", 1 << 20: "0123456789"} {
			got, err := k.copies.Read(k.Context(), id, "a/file", limit)
			k.Must(err)
			k.wantEqual("content", want, string(got))
		}
		for _, name := range []string{"b", "a", "a/", "a/file/", "a/file/x", "", ".", "..", "/a/file", "./a/file",
			"a/../a/file", "a//file", "../kept", "a\x00"} {
			if got, err := k.copies.Read(k.Context(), id, name, 10); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q: %q, %v", name, got, err)
			}
		}
	})
}

// TestCopiesThatAreNotThere asks for what was never kept.
func TestCopiesThatAreNotThere(t *testing.T) {
	overCopiers(t, func(t *testing.T, k kept) {
		k.Write("a", "a")
		id := k.take()
		for _, none := range []string{"", "HEAD", "--help", "../../x", strings.Repeat("0", len(id)),
			strings.Repeat("a", 40), strings.Repeat("a", 64)} {
			_, changes := k.copies.Changes(k.Context(), none, id)
			_, back := k.copies.Changes(k.Context(), id, none)
			_, files := k.copies.Files(k.Context(), none)
			_, read := k.copies.Read(k.Context(), none, "a", 1)
			_, onto := k.copies.Join(k.Context(), none, id, id)
			_, join := k.copies.Join(k.Context(), id, none, id)
			extract := k.copies.Extract(k.Context(), none, t.TempDir(), nil)
			for what, err := range map[string]error{"changes": changes, "back": back, "files": files, "read": read,
				"onto": onto, "join": join, "extract": extract} {
				if !errors.Is(err, manifest.ErrNoSnapshot) {
					t.Errorf("%s of %q: %v", what, none, err)
				}
			}
		}
	})
}

// TestCopiesLeaveOut has files that are too large, and what is no file.
func TestCopiesLeaveOut(t *testing.T) {
	overCopiers(t, func(t *testing.T, k kept) {
		k.Sh("echo a >a; echo small >grows")
		base := k.take()
		for _, name := range []string{"grows", "large"} {
			k.Must(os.WriteFile(k.Path(name), nil, 0o600))
			k.Must(os.Truncate(k.Path(name), 100<<20+1))
		}
		k.Sh("mkfifo pipe")
		now := k.Fingerprint(k.copies, input)
		want := []string{
			"grows is not up to date in the snapshot: it is larger than 100 MiB",
			"large is not up to date in the snapshot: it is larger than 100 MiB",
		}
		var left []string
		for _, said := range now.Omitted {
			said = strings.TrimPrefix(said, "in ner/deep/")
			if !strings.HasPrefix(said, "pipe ") { // which git does not even name
				left = append(left, said)
			}
		}
		k.wantEqual("left", want, left)
		// their hashes differ, though their contents are not in the snapshot
		k.wantEqual("changes", []string{"changed grows", "added large"}, k.changes(base, now.Snapshot))
		k.wantEqual("extracted", map[string]string{"a": "file a\n", "grows": "file small\n"}, k.extracted(now.Snapshot, nil))
		k.wantEqual("again", now.Snapshot, k.Fingerprint(k.copies, input).Snapshot)
		k.Sh("rm pipe large; echo other >grows")
		k.wantEqual("small again", []string{"changed grows"}, k.changes(base, k.take()))
	})
}

func TestCopiesExtractSome(t *testing.T) {
	overCopiers(t, func(t *testing.T, k kept) {
		k.Sh("mkdir -p a/b c; echo 1 >a/b/1; echo 2 >a/2; echo 3 >c/3; ln -s ../a c/link; echo 'exit 0' >run; chmod +x run")
		id := k.take()
		k.Sh("rm -rf a; echo other >c/3")
		k.wantEqual(
			"some",
			map[string]string{
				filepath.FromSlash("a/b/1"):  "file 1\n",
				filepath.FromSlash("c/link"): "link ../a",
				"run":                        "program exit 0\n",
			},
			k.extracted(id, []string{"c/link", "a/b/1", "run", "a/b/1", "a", "missing", "../outside", "/etc/passwd", ""}),
		)
		k.wantEqual("none", map[string]string{}, k.extracted(id, []string{}))

		k.Must(k.copies.Extract(k.Context(), id, k.Dir, []string{"a/2", "c/3"}))
		k.wantEqual("in place", map[string]string{
			filepath.FromSlash("a/2"):    "file 2\n",
			filepath.FromSlash("c/3"):    "file 3\n",
			filepath.FromSlash("c/link"): "link ../a",
			"run":                        "program exit 0\n",
		}, treeOf(k.Workspace))
	})
}

// TestCopiesExtractStaysInside writes below a folder in which links lead elsewhere.
func TestCopiesExtractStaysInside(t *testing.T) {
	overCopiers(t, func(t *testing.T, k kept) {
		k.Sh("mkdir -p a/b; echo 1 >a/b/1; echo 2 >2; echo 3 >3; echo 4 >4")
		id := k.take()
		to, outside := gittest.NewFolder(t), gittest.NewFolder(t)
		outside.Write("b/1", "not ours\n")
		outside.Write("2", "not ours\n")
		before := treeOf(outside)
		to.Must(os.Symlink(outside.Dir, to.Path("a")))
		to.Must(os.Symlink(outside.Path("2"), to.Path("2")))
		to.Write("3/full", "stays\n")
		to.Write("4", "replaced\n")
		if err := k.copies.Extract(t.Context(), id, to.Dir, nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("error %v", err)
		}
		same(outside, "outside", before)
		same(
			to,
			"inside",
			map[string]string{
				"2":                          "file 2\n",
				filepath.FromSlash("3/full"): "file stays\n",
				"4":                          "file 4\n",
				"a":                          "link " + outside.Dir,
			},
		)
	})
}

func TestCopiesJoin(t *testing.T) {
	cases := map[string]struct {
		base, from, to string
		want           map[string]string
	}{
		"added": {
			base: "echo b >b",
			from: "echo b >b; echo mine >mine",
			to:   "echo n >n",
			want: map[string]string{"b": "file b\n", "n": "file n\n"},
		},
		"changed": {
			base: "echo b >b; echo a >a",
			from: "echo other >a",
			to:   "echo new >b",
			want: map[string]string{"a": "file a\n", "b": "file new\n"},
		},
		"deleted": {
			base: "echo b >b; echo a >a",
			from: "true",
			to:   "rm b",
			want: map[string]string{"a": "file a\n"},
		},
		"deleted, not there": {base: "echo a >a", from: "echo b >b", to: "rm b", want: map[string]string{"a": "file a\n"}},
		"changed, not there": {
			base: "echo a >a",
			from: "echo b >b",
			to:   "echo c >b",
			want: map[string]string{"a": "file a\n", "b": "file c\n"},
		},
		"the agent's changed": {
			base: "echo b >b",
			from: "echo agent >b",
			to:   "echo user >b",
			want: map[string]string{"b": "file user\n"},
		},
		"mode": {
			base: "echo b >b",
			from: "true",
			to:   "chmod +x b",
			want: map[string]string{"b": "program b\n"},
		},
		"link": {base: "echo b >b", from: "true", to: "ln -sf c b", want: map[string]string{"b": "link c"}},
		"file to folder": {
			base: "echo b >b; echo b >b.x",
			from: "true",
			to:   "rm b; mkdir b; echo c >b/c",
			want: map[string]string{"b.x": "file b\n", filepath.FromSlash("b/c"): "file c\n"},
		},
		"folder to file": {
			base: "mkdir -p b/d; echo c >b/c; echo e >b/d/e",
			from: "true",
			to:   "rm -r b; echo b >b",
			want: map[string]string{"b": "file b\n"},
		},
		"over a folder": {
			base: "mkdir -p b/d; echo c >b/c; echo e >b/d/e",
			from: "rm -r b",
			to:   "echo b >b",
			want: map[string]string{"b": "file b\n"},
		},
		"under a file": {
			base: "echo b >b",
			from: "rm b",
			to:   "mkdir b; echo c >b/c",
			want: map[string]string{filepath.FromSlash("b/c"): "file c\n"},
		},
		"nothing":    {base: "echo b >b", from: "echo c >b", to: "true", want: map[string]string{"b": "file b\n"}},
		"to nothing": {base: "echo b >b", from: "true", to: "rm b", want: map[string]string{}},
		"there already": {
			base: "echo b >b; echo n >n",
			from: "rm n",
			to:   "echo n >n",
			want: map[string]string{"b": "file b\n", "n": "file n\n"},
		},
	}
	// Each case has a folder of its own, and all of them three copies: those cost the most.
	overCopiers(t, func(t *testing.T, k kept) {
		want := map[string]string{}
		var ids []string
		var trees []map[string]string
		for _, step := range []func(name string) string{
			func(name string) string { return cases[name].base },
			func(name string) string { return cases[name].from },
			func(name string) string { return cases[name].to },
		} {
			for name, c := range cases {
				k.At(name).Sh(step(name))
				for file, text := range c.want {
					want[filepath.Join(name, file)] = text
				}
			}
			ids, trees = append(ids, k.take()), append(trees, treeOf(k.Workspace))
		}
		joined, err := k.copies.Join(k.Context(), ids[0], ids[1], ids[2])
		k.Must(err)
		k.whole("joined", joined, want)
		again, err := k.copies.Join(k.Context(), ids[0], ids[1], ids[2])
		k.Must(err)
		k.wantEqual("again", joined, again)
		for i, id := range ids {
			k.whole("as before", id, trees[i])
		}
		there, err := k.copies.Join(k.Context(), joined, ids[1], ids[2])
		k.Must(err)
		k.wantEqual("there already", joined, there)
		same, err := k.copies.Join(k.Context(), ids[0], ids[1], ids[1])
		k.Must(err)
		k.wantEqual("of nothing", ids[0], same)

		k.Sh("echo later >later")
		onto, err := k.copies.Join(k.Context(), joined, ids[2], k.take())
		k.Must(err)
		want["later"] = "file later\n"
		k.whole("joined again", onto, want)
	})
}
