package cleanup

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/oklog/ulid/v2"

	"github.com/ralphloop/ralph/internal/workspace"
)

// snapshotUse says which snapshots the runs that are there use. Those of a run have its name. A later run
// may also compare its files with the snapshot of an earlier one, so every snapshot that a log names stays.
func (in Input) snapshotUse() workspace.SnapshotUse {
	named := sync.OnceValues(in.namedSnapshots)
	return workspace.SnapshotUse{
		Keeps: func(run string) bool {
			_, unknown := ulid.ParseStrict(run)
			_, gone := os.Lstat(in.Store.RunDir(run))
			return unknown != nil || gone == nil || !errors.Is(gone, os.ErrNotExist)
		},
		Needs: func(id string) bool {
			names, err := named()
			return err != nil || names[id] // what a log says that cannot be read is unknown
		},
	}
}

// namedSnapshots returns every name in the logs of all runs, and in the list of restores, that can be that
// of a snapshot.
func (in Input) namedSnapshots() (map[string]bool, error) {
	runs, err := in.Store.Runs()
	if err != nil {
		return nil, err
	}
	files := []string{filepath.Join(in.Store.Dir(), "restores.jsonl")}
	for _, r := range runs {
		files = append(files, filepath.Join(in.Store.RunDir(r.Run), "events.jsonl"))
	}
	names := map[string]bool{}
	for _, path := range files {
		if err := addNames(names, path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return names, nil
}

// addNames adds the hexadecimal words of a file that are as long as the hash of an object.
func addNames(names map[string]bool, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<16)
	word := make([]byte, 0, 64)
	for {
		c, err := in.ReadByte()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err == nil && ('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			if len(word) <= 64 {
				word = append(word, c)
			}
			continue
		}
		if len(word) == 40 || len(word) == 64 {
			names[string(word)] = true
		}
		word = word[:0]
		if err != nil {
			return nil
		}
	}
}
