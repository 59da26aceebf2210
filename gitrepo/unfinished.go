package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	unfinishedLines = 200  // listed at most
	unfinishedChars = 160  // of one entry
	untrackedFiles  = 2000 // read for it at most
	lineLimit       = 4 << 10
)

// unfinished lists the lines that were added since the first of bases that is still
// there, or stand in untracked files, and look unfinished.
func (r *Repo) unfinished(ctx context.Context, top *os.Root, bases []string, paths []path) ([]string, error) {
	found := findings{prefix: r.prefix, entries: map[string]bool{}}
	if err := r.addedLines(ctx, bases, &found); err != nil {
		return nil, err
	}
	left := untrackedFiles
	for _, p := range paths {
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

func (r *Repo) addedLines(ctx context.Context, bases []string, found *findings) error {
	for i, base := range bases {
		reader := diffReader{line: found.add}
		err := r.run(ctx, call{out: &reader, args: diffArguments(base, "-U0", "--src-prefix=a/", "--dst-prefix=b/")})
		if failed, ok := errors.AsType[*failure](err); ok && failed.code == 128 && i+1 < len(bases) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read added lines: %w", err)
		}
		return nil
	}
	return nil
}

// diffArguments compares the workspace with a commit, whatever the user has configured
// for diffs to be shown.
func diffArguments(base string, how ...string) []string {
	args := []string{
		"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--no-relative", "--inter-hunk-context=0",
		"-O" + os.DevNull, "--ignore-submodules=dirty", "--submodule=short",
	}
	return append(append(args, how...), base, "--", ".")
}

// readLines gives the lines of a text file of moderate size to each. It returns how many
// bytes it read.
func readLines(top *os.Root, name string, each func(line []byte)) int {
	if info, err := top.Lstat(filepath.FromSlash(name)); err != nil || !info.Mode().IsRegular() || info.Size() > contentLimit {
		return 0
	}
	f, ok := open(top, name)
	if !ok {
		return 0
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, contentLimit))
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

// exempt reports whether open items belong into the file.
func (f *findings) exempt(name string) bool {
	name = strings.TrimPrefix(name, f.prefix)
	return strings.HasPrefix(name, ".ralph/") || strings.HasPrefix(name, ".agent/") || name == "prd.json" || name == "IMPLEMENTATION_PLAN.md"
}

func (f *findings) add(name string, line []byte) {
	// More than that is never shown; the bound keeps a hostile diff from filling the memory.
	if len(f.entries) >= 100*unfinishedLines || f.exempt(name) || !looksUnfinished(line) {
		return
	}
	text := bytes.ToValidUTF8(bytes.TrimSpace(line[:min(len(line), lineLimit)]), []byte("\ufffd"))
	f.entries[shorten(strings.TrimPrefix(name, f.prefix)+": "+string(text))] = true
}

func (f *findings) list() []string {
	entries := make([]string, 0, len(f.entries))
	for entry := range f.entries {
		entries = append(entries, entry)
	}
	slices.Sort(entries)
	if len(entries) == 0 {
		return nil
	}
	return slices.Clip(entries[:min(len(entries), unfinishedLines)])
}

// shorten makes one printable line of an entry and cuts it.
func shorten(entry string) string {
	entry = strings.Map(func(c rune) rune {
		switch {
		case c == '\t':
			return ' '
		case unicode.IsControl(c):
			return -1
		}
		return c
	}, entry)
	if utf8.RuneCountInString(entry) > unfinishedChars {
		entry = string([]rune(entry)[:unfinishedChars])
	}
	return strings.TrimSpace(entry)
}

var unfinishedWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:TODO|FIXME|XXX)(?:$|[^\w./-]|[./-](?:\W|$))` +
		`|(?i:(?:^|[^\w.])(?:not (?:yet )?implemented|unimplemented|placeholder implementation)\b)` +
		`|\bNotImplemented(?:Error|Exception)\b|\btodo!\s*[(\[{]`)
})

// hints are parts of the words above. They are looked for first, since nearly no line
// holds one and matching is slow.
var hints = [][]byte{[]byte("TODO"), []byte("FIXME"), []byte("XXX"), []byte("todo!"), []byte("mplement"), []byte("MPLEMENT")}

func looksUnfinished(line []byte) bool {
	line = bytes.TrimRight(line[:min(len(line), lineLimit)], "\r\n")
	for _, hint := range hints {
		if bytes.Contains(line, hint) {
			return unfinishedWords().Match(line)
		}
	}
	return false
}
