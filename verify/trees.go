package verify

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/protect"
)

// trees gives the protection rules access to two snapshots.
func (e *Examiner) trees(base, now string) protect.Trees {
	id := func(side protect.Side) string {
		if side == protect.Base {
			return base
		}
		return now
	}
	return protect.Trees{
		Read: func(ctx context.Context, side protect.Side, name string) ([]byte, error) {
			return e.Snapshots.Read(ctx, id(side), name, protect.Limit)
		},
		Find: func(ctx context.Context, side protect.Side, names, words []string) ([]protect.Mention, error) {
			return e.find(ctx, id(side), names, words)
		},
	}
}

// find returns the lines of files in a snapshot that contain one of the words. It extracts all
// files into a folder first, which takes one request instead of one per file.
func (e *Examiner) find(ctx context.Context, id string, names, words []string) ([]protect.Mention, error) {
	if len(names) == 0 || len(words) == 0 {
		return nil, nil
	}
	folder, err := tempFolder(e, "search-")
	if err != nil {
		return nil, fmt.Errorf("search snapshot: %w: %w", ralph.ErrIO, err)
	}
	defer os.RemoveAll(folder)
	if err := e.Snapshots.Extract(ctx, id, folder, names); err != nil {
		return nil, fmt.Errorf("search snapshot: %w", err)
	}
	var found []protect.Mention
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("search snapshot: %w", err)
		}
		path := filepath.Join(folder, filepath.FromSlash(name))
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > protect.Limit {
			continue // links have no lines, and files this large are not handwritten
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("search snapshot: %w: %w", ralph.ErrIO, err)
		}
		for _, line := range linesWith(text, words) {
			found = append(found, protect.Mention{Name: name, Line: line})
		}
	}
	return found, nil
}

func linesWith(text []byte, words []string) []string {
	hasOne := func(text []byte) bool {
		return slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(text, []byte(word)) })
	}
	if !hasOne(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil
	}
	var found []string
	for line := range bytes.Lines(text) {
		if hasOne(line) {
			found = append(found, string(bytes.TrimSpace(line)))
		}
	}
	return found
}
