package snapshot

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
)

// writeTree writes the index of the snapshots as a tree, and lists its files while it has them at hand.
// It fails if an object is missing.
func (k *Keeper) writeTree(ctx context.Context) (string, error) {
	index, readable := readIndex(k.path("index"), k.hash())
	tree, err := "", errLeftToGit
	if readable {
		tree, err = putTrees(k.Store, index)
	}
	if err != nil { // git finds more objects, and says what is wrong
		if tree, err = k.inTree(ctx, git.Call{Args: gitWriteTree}); err != nil {
			return "", err
		}
		tree = strings.TrimSpace(tree)
	}
	if readable {
		_, err = k.listings.List(header{tree: tree, prefix: k.repo.Prefix}.listed(), func() ([]manifest.Entry, error) {
			return below(k.repo.Prefix, entriesOf(index.Files)), nil
		})
	}
	return tree, err
}

// readIndex reads an index, if it has no unusual entries.
func readIndex(path string, sum hash.Hash) (git.Index, bool) {
	content, _ := os.ReadFile(path) // without an index there are no files
	return git.ParseIndex(content, sum)
}

// gitWriteTree syncs the new trees one by one, because in a batch git ignores errors when it moves new
// objects to their place.
var gitWriteTree = []string{"-c", "core.fsyncMethod=fsync", "write-tree"}

func entriesOf(files []git.IndexFile) []manifest.Entry {
	entries := make([]manifest.Entry, 0, len(files))
	for _, file := range files {
		mode := strconv.FormatUint(uint64(file.Mode), 8)
		entries = append(entries, manifest.Entry{Mode: mode, ID: hex.EncodeToString(file.ID), Name: file.Name})
	}
	return entries
}

// treeWriter writes the trees of an index as git write-tree does: those of folders that changed since
// git did it last.
type treeWriter struct {
	*Store
	index   git.Index
	stored  *git.Stored
	lookups int
}

var errLeftToGit = errors.New("git must write the tree")

// putTrees writes the trees of an index. It leaves the first time to git, and those when much has changed:
// git notes in the index what it wrote.
func putTrees(s *Store, index git.Index) (string, error) {
	if index.Trees == nil {
		return "", errLeftToGit
	}
	w := treeWriter{Store: s, index: index, stored: git.OpenStored(s.path(snapshots))}
	defer w.stored.Close()
	id, _, err := w.putTree("", 0)
	return hex.EncodeToString(id), err
}

// putTree writes the tree of a folder, whose name ends with a slash, and returns which file comes after
// those below it. Files are sorted as in a tree, where the name of a folder counts with its slash.
func (w *treeWriter) putTree(folder string, first int) (id []byte, next int, err error) {
	if known, unchanged := w.index.Trees[folder]; unchanged {
		next = first + known.Files
		if !w.has(known.ID) || !w.isBelow(folder, next-1) || w.isBelow(folder, next) {
			return nil, 0, errLeftToGit
		}
		return known.ID, next, nil
	}
	var tree []byte
	for next = first; w.isBelow(folder, next); {
		file := w.index.Files[next]
		name, _, deeper := strings.Cut(file.Name[len(folder):], "/")
		if deeper {
			if id, next, err = w.putTree(folder+name+"/", next); err != nil {
				return nil, 0, err
			}
			tree = fmt.Appendf(tree, "40000 %s\x00%s", name, id)
			continue
		}
		if !w.has(file.ID) {
			return nil, 0, errLeftToGit
		}
		tree = fmt.Appendf(tree, "%o %s\x00%s", file.Mode, name, file.ID)
		next++
	}
	id = idOf(asObject("tree", tree), w.hash())
	if !w.has(id) {
		_, err = w.put("tree", tree)
	}
	return id, next, err
}

func (w *treeWriter) isBelow(folder string, file int) bool {
	return file >= 0 && file < len(w.index.Files) && strings.HasPrefix(w.index.Files[file].Name, folder)
}

// has reports whether an object is stored. Looking for many takes longer than a call of git.
func (w *treeWriter) has(id []byte) bool {
	const most = 1000
	w.lookups++
	return w.lookups <= most && w.stored.Has(id)
}
