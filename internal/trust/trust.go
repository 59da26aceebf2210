// Package trust records which commands of a repository the user has agreed to.
//
// A repository can name commands: its checks, its agent, its notifier. A user who runs Ralph in a
// fresh clone has not read them, so they run only after the user has agreed once. Consent applies
// to the exact commands, by digest, and to one workspace; after any change the user must agree
// again, but not to commands from before: a user changes branches. An agent must not choose among
// these, so the newest consent is known, too. The caller decides whether and how to ask. The record
// is in the user's state folder, never in the repository.
package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ralphloop/ralph/internal/config"
)

// Digest identifies the commands: their keys and values, in order. Where they are written does not
// matter, so moving a line needs no new consent.
func Digest(commands []config.NamedCommand) string {
	hash := sha256.New()
	for _, c := range commands {
		for _, part := range []string{c.Key, c.Value} {
			// The length distinguishes "a"+"bc" from "ab"+"c".
			hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
			io.WriteString(hash, part)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Store is a file of consents, one JSON line each. It is append-only, so that consents of two runs
// at the same moment both count.
type Store struct {
	Path string
}

// In returns the store of a state folder.
func In(stateDir string) Store { return Store{Path: filepath.Join(stateDir, "trust.jsonl")} }

// Kind is where commands come from. A user agrees to each kind separately.
type Kind string

// The kinds.
const (
	Project     Kind = "project" // the project's configuration
	AgentFiles  Kind = "agent_files"
	Tasks       Kind = "tasks"
	GitPrograms Kind = "git_programs"
)

type consent struct {
	Workspace string    `json:"workspace"`
	Kind      Kind      `json:"kind,omitempty"` // "" in records of earlier versions
	Digest    string    `json:"digest"`
	At        time.Time `json:"at"`
}

// maxBytes is far more than a lifetime of consents.
const maxBytes = 16 << 20

// Trusted reports whether the user has ever agreed to this digest in this workspace. Without a file
// the answer is no. A line that cannot be read is ignored: to ask once too often is safe.
func (s Store) Trusted(workspace, digest string) (bool, error) {
	trusted := false
	err := s.read(func(c consent) { trusted = trusted || c.Workspace == workspace && c.Digest == digest })
	return trusted, err
}

// Newest returns the digest of this kind that the user agreed to last in this workspace, or "".
func (s Store) Newest(workspace string, kind Kind) (string, error) {
	var newest string
	err := s.read(func(c consent) {
		if c.Workspace == workspace && c.Kind == kind {
			newest = c.Digest
		}
	})
	return newest, err
}

func (s Store) read(each func(consent)) error {
	file, err := os.Open(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read trust: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxBytes))
	if err != nil {
		return fmt.Errorf("read trust: %w", err)
	}
	for line := range bytes.Lines(data) {
		var c consent
		if json.Unmarshal(line, &c) == nil {
			each(c)
		}
	}
	return nil
}

// Grant records that the user has agreed, and returns when the record is on stable storage.
// Granting twice in a row changes nothing.
func (s Store) Grant(workspace string, kind Kind, digest string, now time.Time) error {
	if newest, err := s.Newest(workspace, kind); newest == digest || err != nil {
		return err
	}
	line, err := json.Marshal(consent{workspace, kind, digest, now.UTC()})
	if err != nil {
		return fmt.Errorf("encode trust: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		return fmt.Errorf("write trust: %w", err)
	}
	file, err := os.OpenFile(s.Path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("write trust: %w", err)
	}
	// The newline in front ends what a crash may have left of an earlier line.
	_, err = file.Write(bytes.Join([][]byte{nil, line, nil}, []byte("\n")))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write trust: %w", err)
	}
	return nil
}
