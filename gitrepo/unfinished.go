package gitrepo

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/text"
)

// diffReader reads `git diff -U0` as a stream and passes every added line to line. It buffers one
// line, up to lineLimit bytes.
type diffReader struct {
	line    func(name string, text []byte)
	partial []byte
	name    string
	removed int // lines left in the hunk
	added   int
}

const (
	unfinishedLines = 200  // most lines that are listed
	untrackedFiles  = 2000 // most untracked files that are read
	lineLimit       = 4 << 10
)

// unfinished lists the lines that look unfinished, among untracked files and lines added since the
// first of bases that still exists.
func (r *Repo) unfinished(ctx context.Context, top *os.Root, bases []string, st status) ([]string, error) {
	found := findings{prefix: r.Prefix, entries: map[string]bool{}}
	if err := r.addedLines(ctx, bases, append(tooLong(top, st.paths), st.without()...), &found); err != nil {
		return nil, err
	}
	left := untrackedFiles
	for _, p := range st.paths {
		if !p.untracked || p.folder || found.exempt(p.name) {
			continue
		}
		if left--; left < 0 {
			break
		}
		readLines(top, p.name, func(line []byte) { found.add(p.name, line) })
	}
	return found.list(), nil
}

func (r *Repo) addedLines(ctx context.Context, bases, without []string, found *findings) error {
	for i, base := range bases {
		reader := diffReader{line: found.add}
		args := append(diffArguments(base, "-U0", "--src-prefix=a/", "--dst-prefix=b/"), without...)
		_, err := r.call(ctx, git.Call{Out: &reader, Args: args})
		if git.ExitCode(err) != 128 || i+1 == len(bases) {
			return wrapError("read added lines", err)
		}
	}
	return nil
}

// tooLong returns pathspecs that leave changed files out of a diff because they are too long to be compared
// line by line. Git compares a changed file whose size is the same as before whatever its size is.
func tooLong(top *os.Root, paths []path) []string {
	const most = 1000
	var specs []string
	for _, p := range paths {
		info, err := top.Lstat(filepath.FromSlash(p.name))
		if err == nil && info.Mode().IsRegular() && info.Size() > scan.ContentLimit && !p.untracked && len(specs) < most {
			specs = append(specs, ":(top,exclude,literal)"+p.name)
		}
	}
	return specs
}

// diffArguments compares the workspace with a commit, independent of the user's diff settings. It does
// not write the user's index, which git would in spite of GIT_OPTIONAL_LOCKS.
func diffArguments(base string, how ...string) []string {
	args := []string{
		"-c", "diff.autoRefreshIndex=false",
		"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--no-relative", "--inter-hunk-context=0",
		"-O" + os.DevNull, "--ignore-submodules=dirty", "--submodule=short",
	}
	return append(append(args, how...), base, "--", ".")
}

// readLines calls each with every line of a text file of moderate size. It returns the number of
// bytes that it read.
func readLines(top *os.Root, name string, each func(line []byte)) int {
	if info, err := top.Lstat(filepath.FromSlash(name)); err != nil || !info.Mode().IsRegular() ||
		info.Size() > scan.ContentLimit {
		return 0
	}
	f, ok := scan.Open(top, name)
	if !ok {
		return 0
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, scan.ContentLimit))
	if err != nil || bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0 {
		return len(content)
	}
	for line := range bytes.Lines(content) {
		each(line)
	}
	return len(content)
}

// findings collects entries, each once.
type findings struct {
	prefix  string
	entries map[string]bool
}

// exempt reports whether open items belong in the file.
func (f *findings) exempt(name string) bool {
	name = strings.TrimPrefix(name, f.prefix)
	return strings.HasPrefix(name, ".ralph/") || strings.HasPrefix(name, ".agent/") ||
		strings.HasPrefix(name, ".taskmaster/") || name == "prd.json" || name == "IMPLEMENTATION_PLAN.md"
}

func (f *findings) add(name string, line []byte) {
	// More is never shown; the limit keeps a hostile diff from filling the memory.
	if len(f.entries) >= 100*unfinishedLines || f.exempt(name) || !looksUnfinished(line) {
		return
	}
	text := bytes.ToValidUTF8(bytes.TrimSpace(line[:min(len(line), lineLimit)]), []byte("\ufffd"))
	f.entries[scan.Shorten(strings.TrimPrefix(name, f.prefix)+": "+string(text))] = true
}

func (f *findings) list() []string {
	entries := slices.Sorted(maps.Keys(f.entries))
	return slices.Clip(entries[:min(len(entries), unfinishedLines)])
}

var unfinishedWords = text.LazyRegexp(`\b(?:TODO|FIXME|XXX)(?:$|[^\w./-]|[./-](?:\W|$))` +
	`|(?i:(?:^|[^\w.])(?:not (?:yet )?implemented|unimplemented|placeholder implementation)\b)` +
	`|\bNotImplemented(?:Error|Exception)\b|\btodo!\s*[(\[{]`)

// hints are parts of the words above. They are searched first, because almost no line contains one
// and matching the expression is slow.
var hints = [][]byte{
	[]byte("TODO"),
	[]byte("FIXME"),
	[]byte("XXX"),
	[]byte("todo!"),
	[]byte("mplement"),
	[]byte("MPLEMENT"),
}

func looksUnfinished(line []byte) bool {
	line = bytes.TrimRight(line[:min(len(line), lineLimit)], "\r\n")
	hinted := slices.ContainsFunc(hints, func(hint []byte) bool { return bytes.Contains(line, hint) })
	return hinted && unfinishedWords().Match(line)
}

func (d *diffReader) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		d.partial = append(d.partial, line[:min(len(line), lineLimit-len(d.partial))]...)
		if !ended {
			return n, nil
		}
		d.take(d.partial)
		d.partial, p = d.partial[:0], rest
	}
}

var hunk = text.LazyRegexp(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

func (d *diffReader) take(line []byte) {
	if len(line) == 0 {
		return
	}
	switch {
	case d.removed > 0 && line[0] == '-':
		d.removed--
	case d.added > 0 && line[0] == '+':
		d.added--
		d.line(d.name, line[1:])
	case bytes.HasPrefix(line, []byte("+++ ")):
		d.name = diffName(string(line[4:]))
	case line[0] == '@':
		if m := hunk().FindSubmatch(line); m != nil {
			d.removed, d.added = hunkLines(m[1]), hunkLines(m[2])
		}
	}
}

// hunkLines parses a line count, which git omits if it is 1.
func hunkLines(count []byte) int {
	n, err := strconv.Atoi(string(count))
	if err != nil {
		return 1
	}
	return n
}

// diffName returns the path of a "+++" line. Git writes it after b/, quotes it if it has unusual
// characters, and adds a tab if it has spaces.
func diffName(name string) string {
	name = strings.TrimSuffix(name, "\t")
	// Git quotes like C, which matches Go for everything that git escapes.
	if plain, err := strconv.Unquote(name); err == nil {
		name = plain
	}
	return strings.TrimPrefix(name, "b/")
}
