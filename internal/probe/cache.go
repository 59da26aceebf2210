package probe

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/atomicfile"
)

// revision is incremented when the probe examines or judges something differently.
const revision = 1

// maxAge is how long a report that is not all ok is used.
const maxAge = 24 * time.Hour

// Cache stores reports in a folder, one file per program and version. Without a folder it stores
// nothing.
type Cache struct {
	Dir string
	Now func() time.Time
}

// Key identifies what a report is about.
type Key struct {
	Agent    string `json:"agent"`
	Program  string `json:"program"` // its path
	Version  string `json:"version"` // "" if unknown; then nothing is stored
	Revision string `json:"revision"`
	// the version that probed; another one may read or judge differently
	Ralph string `json:"ralph"`
}

// Kept is a stored report with its time.
type Kept struct {
	Key
	ProbedAt time.Time `json:"probed_at"`
	Report   Report    `json:"report"`
}

// Revision changes with the probe, and with the command lines that a run would use, because other
// flags may behave differently.
func Revision(d agent.Dialect) string {
	sum := sha256.New()
	for _, r := range []agent.Request{{Permissions: agent.PermitAll}, {
		Permissions:     agent.PermitEdits,
		AllowedCommands: []string{allowed},
	}} {
		r.PromptFile = "prompt.md"
		command, err := d.Command(r)
		fmt.Fprintln(sum, command, err)
	}
	return fmt.Sprintf("%d-%x", revision, sum.Sum(nil)[:6])
}

// Find returns the stored report for a key, if it is still valid.
func (c Cache) Find(key Key) (Kept, bool) {
	if c.Dir == "" || key.Version == "" {
		return Kept{}, false
	}
	var kept Kept
	data, err := os.ReadFile(c.file(key))
	if err != nil || json.Unmarshal(data, &kept) != nil || kept.Key != key {
		return Kept{}, false
	}
	age := c.Now().Sub(kept.ProbedAt)
	if kept.Report.State() != OK && (age < 0 || age > maxAge) {
		return Kept{}, false
	}
	kept.Report.Settled = true
	return kept, true
}

// Keep stores a settled report. It replaces an older one of the same program.
func (c Cache) Keep(kept Kept) error {
	if c.Dir == "" || kept.Version == "" || !kept.Report.Settled {
		return nil
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("make cache folder: %w", err)
	}
	data, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	if err := atomicfile.Swap(c.file(kept.Key), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// file returns one file per program, so that a new version replaces the old one.
func (c Cache) file(key Key) string {
	sum := sha256.Sum256([]byte(key.Program))
	return filepath.Join(c.Dir, fmt.Sprintf("%s-%x.json", key.Agent, sum[:6]))
}
