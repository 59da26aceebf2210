package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestReadFile(t *testing.T) {
	p := newPlace(t, map[string]string{
		"three": "one\ntwo\nthree\n", "open": "one\ntwo", "crlf": "one\r\ntwo\r\n", "empty": "", "binary": "a\x00b",
		"latin": "caf\xe9\n", "breaks": "\n\n",
		"wide": strings.Repeat("ä", 2001) + "\nnext\n", "late": strings.Repeat("x\n", 5000) + "a\x00b\n", "dir/x": "",
	})
	tests := []struct {
		name  string
		input fields
		want  Output
	}{
		{"all", fields{"path": "three"}, Output{Text: "     1\tone\n     2\ttwo\n     3\tthree\n"}},
		{"from", fields{"path": "three", "offset": 2}, Output{Text: "     2\ttwo\n     3\tthree\n"}},
		{
			"some",
			fields{"path": "three", "offset": 2, "limit": 1},
			Output{Text: "     2\ttwo\n[there is more (14 bytes in total): continue with offset 3]\n", Cut: true},
		},
		{"exactly", fields{"path": "three", "limit": 3}, Output{Text: "     1\tone\n     2\ttwo\n     3\tthree\n"}},
		{"beyond", fields{"path": "three", "offset": 4}, Output{Text: "three has only 3 lines", Failed: true}},
		{
			"before", fields{"path": "three", "offset": -1}, Output{Text: "offset and limit must not be negative", Failed: true},
		},
		{
			"no last line break", fields{"path": "open"},
			Output{Text: "     1\tone\n     2\ttwo\n[there is no line break at the end of the file]\n"},
		},
		{
			"crlf", fields{"path": "crlf"},
			Output{Text: "     1\tone\n     2\ttwo\n[lines end with CRLF, which edit_file keeps]\n"},
		},
		{"only breaks", fields{"path": "breaks"}, Output{Text: "     1\t\n     2\t\n"}},
		{"empty", fields{"path": "empty"}, Output{Text: "empty is empty"}},
		{"binary", fields{"path": "binary"}, Output{Text: "binary: binary file, 3 bytes"}},
		{
			"not UTF-8", fields{"path": "latin"},
			Output{Text: "     1\tcaf\uFFFD\n[bytes that are not UTF-8 are shown as \uFFFD]\n"},
		},
		{
			"NUL far inside", fields{"path": "late", "offset": 5001},
			Output{Text: "  5001\ta\uFFFDb\n[bytes that are not UTF-8 are shown as \uFFFD]\n"},
		},
		{
			"long line", fields{"path": "wide"},
			Output{Text: "     1\t" + strings.Repeat("ä", 2000) + "[… 2 bytes cut …]\n     2\tnext\n", Cut: true},
		},
		{"missing", fields{"path": "none"}, Output{Text: "there is no file none", Failed: true}},
		{"below a file", fields{"path": "three/x"}, Output{Text: "there is no file three/x", Failed: true}},
		{"folder", fields{"path": "dir"}, Output{Text: "dir is a folder; use glob to see what is in it", Failed: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, p.call("read_file", test.input)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadFilePages(t *testing.T) {
	var whole strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&whole, "line %d of ä\n", i+1)
	}
	p := newPlace(t, map[string]string{"big": whole.String()})
	var seen strings.Builder
	offset := 1
	for pages := 0; offset > 0; pages++ {
		if pages > 20 {
			t.Fatal("it does not end")
		}
		got := p.call("read_file", fields{"path": "big", "offset": offset})
		if n := utf8.RuneCountInString(got.Text); n > 50_000 {
			t.Errorf("a page has %d characters", n)
		}
		offset = 0
		for l := range strings.Lines(got.Text) {
			if _, text, ok := strings.Cut(l, "\t"); ok {
				seen.WriteString(text)
			} else if _, err := fmt.Sscanf(l[strings.LastIndex(l, "offset"):], "offset %d]", &offset); err != nil {
				t.Fatalf("%q: %v", l, err)
			}
		}
	}
	if seen.String() != whole.String() {
		t.Error("the pages together are not the file")
	}
}

func TestOneEndlessLineTakesLittleMemory(t *testing.T) {
	p := newPlace(t, nil)
	p.put("endless", strings.Repeat("x", 64<<20))
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read := p.call("read_file", fields{"path": "endless"})
	found := p.call("grep", fields{"pattern": "x$"})
	runtime.ReadMemStats(&after)
	if !read.Cut || len(read.Text) > 3000 {
		t.Errorf("%d characters, cut %v", len(read.Text), read.Cut)
	}
	if len(found.Text) > 500 {
		t.Errorf("%d characters", len(found.Text))
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 16<<20 {
		t.Errorf("%d bytes of memory were taken", taken)
	}
}

func TestWriteFile(t *testing.T) {
	p := newPlace(t, map[string]string{"a.sh": "old\n"})
	must(t, os.Chmod(filepath.Join(p.dir, "a.sh"), 0o750))
	tests := []struct {
		path, content string
		want          Output
	}{
		{"a.sh", "new\nlines", Output{Text: "replaced a.sh: 2 lines, 9 bytes", Edited: []string{"a.sh"}}},
		{"deep/er/b.txt", "x\r\n", Output{Text: "made deep/er/b.txt: 1 line, 3 bytes", Edited: []string{"deep/er/b.txt"}}},
		{"empty", "", Output{Text: "made empty: 0 lines, 0 bytes", Edited: []string{"empty"}}},
		{"big", strings.Repeat("ä", 200_000), Output{Text: "made big: 1 line, 400000 bytes", Edited: []string{"big"}}},
		{
			"bigger", strings.Repeat("a", 200_001),
			Output{
				Text:   "content has 200001 characters, more than the 200000 that one call may write; write a part, then add to it",
				Failed: true,
			},
		},
		{"deep", "x", Output{Text: "deep is a folder; use glob to see what is in it", Failed: true}},
		{"folder/", "x", Output{Text: "folder/ names a folder, not a file", Failed: true}},
		{"a.sh/b", "x", Output{Text: "a.sh/b cannot be written: a part of its path is a file, not a folder", Failed: true}},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			got := p.call("write_file", fields{"path": test.path, "content": test.content})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !got.Failed && p.get(test.path) != test.content {
				t.Errorf("the file is %.50q", p.get(test.path))
			}
		})
	}
	if info, err := os.Stat(filepath.Join(p.dir, "a.sh")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	p.noDrafts()
}

func (p place) noDrafts() {
	p.Helper()
	left, err := filepath.Glob(filepath.Join(p.dir, ".ralph-*"))
	if err != nil || len(left) > 0 {
		p.Errorf("left behind: %v, %v", left, err)
	}
}

func TestReadOnlyFilesStay(t *testing.T) {
	p := newPlace(t, map[string]string{"a": "a\n"})
	must(t, os.Chmod(filepath.Join(p.dir, "a"), 0o444))
	for tool, input := range map[string]any{
		"write_file": fields{"path": "a", "content": "b"},
		"edit_file":  fields{"path": "a", "old": "a", "new": "b"},
	} {
		if got := p.call(tool, input); !got.Failed || !strings.Contains(got.Text, "it is read-only") || p.get("a") != "a\n" {
			t.Errorf("%s: %+v", tool, got)
		}
	}
}

func TestEditFile(t *testing.T) {
	code := "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n"
	tests := []struct {
		name, before, after string
		old, with           string
		all                 bool
		want                string // the text; a failure if nothing changes
	}{
		{
			name: "one", before: code, old: "func a()", with: "func c()", after: strings.Replace(code, "a()", "c()", 1),
			want: "edited f: 1 replacement, at line 1",
		},
		{
			name: "several lines", before: code, old: "func b() {\n\treturn 1", with: "func b() {\n\treturn 2",
			after: "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n", want: "edited f: 1 replacement, at line 5",
		},
		{
			name: "all", before: code, old: "return 1", with: "return 2", all: true, after: strings.ReplaceAll(code, "1", "2"),
			want: "edited f: 2 replacements, at lines 2, 6",
		},
		{name: "take away", before: "a\nb\nc\n", old: "b\n", after: "a\nc\n", want: "edited f: 1 replacement, at line 2"},
		{
			name: "no last line break", before: "a\nb", old: "b", with: "c", after: "a\nc",
			want: "edited f: 1 replacement, at line 2",
		},
		{
			name: "crlf", before: "a\r\nb\r\nc\r\n", old: "a\nb", with: "x\ny\nz", after: "x\r\ny\r\nz\r\nc\r\n",
			want: "edited f: 1 replacement, at line 1",
		},
		{
			name: "crlf given", before: "a\r\nb\r\n", old: "a\r\nb", with: "x\r\ny", after: "x\r\ny\r\n",
			want: "edited f: 1 replacement, at line 1",
		},
		{
			name: "new lines in crlf", before: "a\r\nb\r\n", old: "b", with: "c\nd", after: "a\r\nc\r\nd\r\n",
			want: "edited f: 1 replacement, at line 2",
		},
		{
			name: "both kinds of line ends", before: "a\nb\r\nc\r\nd\n", old: "b\nc", with: "x\ny", after: "a\nx\r\ny\r\nd\n",
			want: "edited f: 1 replacement, at line 2",
		},
		{
			name: "not UTF-8 elsewhere", before: "caf\xe9\nb\n", old: "b", with: "ü", after: "caf\xe9\nü\n",
			want: "edited f: 1 replacement, at line 2",
		},
		{
			name: "twice", before: code, old: "return 1", with: "return 2",
			want: "f: old occurs 2 times, at lines 2, 6; add lines around it until it occurs once, or set all",
		},
		{
			name: "many", before: strings.Repeat("x\n", 30), old: "x", with: "y",
			want: "f: old occurs 30 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …; add lines around it until it occurs " +
				"once, or set all",
		},
		{name: "same", before: code, old: "a", with: "a", want: "old and new are the same; there is nothing to change"},
		{
			name: "same but for line ends", before: "a\r\nb\r\n", old: "a\nb", with: "a\r\nb",
			want: "f: old and new differ only in line endings, and the file keeps its own",
		},
		{name: "empty old", before: code, with: "x", want: "old is empty; use write_file to write a whole file"},
		{
			name: "nowhere", before: code, old: "func z()", with: "x",
			want: "f: old does not occur, and no line of it does; read the file again",
		},
		{name: "white space", before: code, old: "func b() {\n    return 1\n}", with: "x",
			want: "f: old does not occur; the same text with different whitespace is at line 5:\n     3\t}\n     4\t\n" +
				"     5\tfunc b() {\n     6\t\treturn 1\n     7\t}"},
		{name: "partly", before: code, old: "func b() {\n\treturn 7", with: "x",
			want: "f: old does not occur; some of its lines are at line 5:\n     3\t}\n     4\t\n     5\tfunc b() {\n" +
				"     6\t\treturn 1\n     7\t}"},
		{
			name: "not UTF-8", before: "caf\xe9\n", old: "caf\uFFFD!", with: "x",
			want: "f: old does not occur, and no line of it does; the file is not UTF-8, so read_file may not show its exact " +
				"content",
		},
		{name: "binary", before: "a\x00b", old: "a", with: "b", want: "f is a binary file and cannot be edited here"},
		{
			name: "empty file", before: "", old: "a", with: "b",
			want: "f: old does not occur, and no line of it does; read the file again",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPlace(t, map[string]string{"f": test.before})
			must(t, os.Chmod(filepath.Join(p.dir, "f"), 0o700))
			input := fields{"path": "f", "old": test.old, "new": test.with}
			if test.all {
				input["all"] = true
			}
			want := Output{Text: test.want, Failed: true}
			if test.after != "" {
				want = Output{Text: test.want, Edited: []string{"f"}}
			} else {
				test.after = test.before
			}
			if diff := cmp.Diff(want, p.call("edit_file", input)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.after, p.get("f")); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
			if info, err := os.Stat(filepath.Join(p.dir, "f")); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			p.noDrafts()
		})
	}
}

func TestEditsHaveBounds(t *testing.T) {
	p := newPlace(t, map[string]string{"f": strings.Repeat("x", 1000), "huge": strings.Repeat("y\n", editLimit/2+1)})
	for path, input := range map[string]fields{
		"explodes": {"path": "f", "old": "x", "new": strings.Repeat("z", 100_000), "all": true},
		"new":      {"path": "f", "old": "x", "new": strings.Repeat("z", 200_001), "all": true},
		"huge":     {"path": "huge", "old": "y", "new": "z", "all": true},
		"missing":  {"path": "none", "old": "y", "new": "z"},
	} {
		if got := p.call("edit_file", input); !got.Failed || len(got.Text) > 200 {
			t.Errorf("%s: %.300v", path, got)
		}
	}
	if p.get("f") != strings.Repeat("x", 1000) {
		t.Error("the file was changed")
	}
}

func TestEditsAtTheSameTimeKeepEachOther(t *testing.T) {
	const n = 20
	var before strings.Builder
	for i := range n {
		fmt.Fprintf(&before, "<%d>\n", i)
	}
	p := newPlace(t, map[string]string{"f": before.String()})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			p.call("edit_file", fields{"path": "f", "old": fmt.Sprintf("<%d>", i), "new": fmt.Sprintf("[%d]", i)})
		})
	}
	all.Wait()
	if want := strings.NewReplacer("<", "[", ">", "]").Replace(before.String()); p.get("f") != want {
		t.Errorf("the file is %q", p.get("f"))
	}
}

func FuzzEditFile(f *testing.F) {
	for _, s := range [][3]string{
		{"a\nb\n", "a", "b"}, {"a\r\nb\r\n", "a\nb", "c\nd"}, {"a\nb\r\n", "b\n", "x\n"}, {"", "a", ""}, {"aaa", "aa", "b"},
		{"\xff\n", "\n", "\r\n"},
	} {
		f.Add([]byte(s[0]), s[1], s[2], false)
		f.Add([]byte(s[0]), s[1], s[2], true)
	}
	f.Fuzz(func(t *testing.T, content []byte, before, after string, all bool) {
		if before == "" || before == after || len(content) > 1<<12 {
			return
		}
		got, at, err := replace(content, editFileInput{Path: "f", Old: before, New: after, All: all})
		if err != nil {
			if got != nil || len(err.Error()) > 20_000 || !utf8.ValidString(err.Error()) {
				t.Fatalf("%q, %v", got, err)
			}
			return
		}
		if !all && len(at) != 1 || len(at) == 0 {
			t.Fatalf("edited at %v", at)
		}
		if bytes.Equal(got, content) {
			t.Fatal("nothing changed, and no error")
		}
		// A CR in the input is intended.
		if crlf(content) && !strings.Contains(before+after, "\r") &&
			bytes.Count(got, []byte("\n")) != bytes.Count(got, []byte("\r\n")) {
			t.Fatalf("%q got other line ends: %q", content, got)
		}
		for _, n := range at {
			if n < 1 || n > bytes.Count(content, []byte("\n"))+1 {
				t.Fatalf("line %d of %q", n, content)
			}
		}
	})
}

// TestALineWithoutEndIsGivenUp has a sparse file that would take minutes to read.
func TestALineWithoutEndIsGivenUp(t *testing.T) {
	p := newPlace(t, map[string]string{"hole": strings.Repeat("x", binaryLook)})
	if err := os.Truncate(filepath.Join(p.dir, "hole"), 1<<38); err != nil {
		t.Skipf("this file system has no files with holes of that size: %v", err)
	}
	for tool, input := range map[string]string{"read_file": `{"path":"hole"}`, "grep": `{"pattern":"y"}`} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		got := p.tools[tool].Run(ctx, json.RawMessage(input))
		cancel()
		if diff := cmp.Diff(Output{Text: "the call was interrupted", Failed: true}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tool, diff)
		}
	}
}

func TestCallsThatTakeTooLongSaySo(t *testing.T) {
	want := Output{Text: "it took longer than 1m0s and was stopped; ask for less", Failed: true}
	if diff := cmp.Diff(want, gaveUp(t.Context())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
