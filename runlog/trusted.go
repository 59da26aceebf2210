package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Trusted points to the tree of a workspace, or of one of its worktrees, that a person trusts.
type Trusted struct {
	Snapshot string `json:"snapshot"`
	Commit   string `json:"commit,omitempty"` // HEAD when it became that
	// Left is the snapshot of the workspace when the last run ended, and Head is HEAD then. Left is "" while agents work,
	// after a run that was killed, and after one whose agent may work on: what they change is not known to be the user's.
	Left string `json:"left,omitempty"`
	Head string `json:"head,omitempty"`
	Run  string `json:"run"`            // the last run
	Open bool   `json:"open,omitempty"` // agents worked in it, and it did not prove their work
	// Protects is what that run protects. Held names files that differ from the tree and that decide what checks show: an
	// earlier run did not prove their changes, and a later one whose checks do not look at them proves nothing about them.
	Protects ProtectedNames `json:"protects,omitzero"`
	Held     []string       `json:"held,omitempty"`
}

// TrustedBeside returns the file with the pointer to one of the snapshots in a folder of SnapshotsOf. It may not exist
// yet.
func TrustedBeside(snapshots string) string {
	return strings.TrimSuffix(snapshots, "snapshots.git") + trustedName
}

const trustedName = "trusted.json"

// ReadTrusted reads a pointer. It reports false if there is none: no run has begun there.
func ReadTrusted(file string) (t Trusted, ok bool, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("read the trusted tree: %w", ioError("read", file, err))
	}
	if err := json.Unmarshal(text, &t); err != nil || t.Snapshot == "" {
		return t, false, fmt.Errorf("read the trusted tree: %w", ioError("read", file, errors.New("the file is damaged")))
	}
	return t, true, nil
}

// WriteTrusted replaces a pointer, all of it or nothing.
func WriteTrusted(file string, t Trusted) error {
	text, err := json.Marshal(t)
	if err == nil {
		err = replaceFile(file, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("record the trusted tree: %w", err)
	}
	return nil
}
