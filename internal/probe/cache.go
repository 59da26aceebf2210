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

// revision is raised when the probe looks at something else, or judges it otherwise.
const revision = 1

// believed is how long a report that is not all ok is taken for true.
const believed = 24 * time.Hour

// Cache keeps reports in a folder, one file a program and version. Without a folder it keeps nothing.
type Cache struct {
	Dir string
	Now func() time.Time
}

// Key says what a report is about.
type Key struct {
	Agent    string `json:"agent"`
	Program  string `json:"program"` // its path
	Version  string `json:"version"` // "" if it is unknown: then nothing is kept
	Revision string `json:"revision"`
	Ralph    string `json:"ralph"` // the version that looked: another one may read or judge otherwise
}

// Kept is a report with its time.
type Kept struct {
	Key
	ProbedAt time.Time `json:"probed_at"`
	Report   Report    `json:"report"`
}

// Revision changes with the probe, and with the command lines that a run would use: other flags may do something else.
func Revision(d agent.Dialect) string {
	sum := sha256.New()
	for _, r := range []agent.Request{{Permissions: agent.PermitAll}, {Permissions: agent.PermitEdits, AllowedCommands: []string{allowed}}} {
		r.PromptFile = "prompt.md"
		command, err := d.Command(r)
		fmt.Fprintln(sum, command, err)
	}
	return fmt.Sprintf("%d-%x", revision, sum.Sum(nil)[:6])
}

// Find gives the report for a key, if one is kept that is still to be believed.
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
	if kept.Report.State() != OK && (age < 0 || age > believed) {
		return Kept{}, false
	}
	kept.Report.Settled = true
	return kept, true
}

// Keep remembers a report that is settled. An older one of the same program goes.
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

// file is one for each program: a new version takes the place of the old one.
func (c Cache) file(key Key) string {
	sum := sha256.Sum256([]byte(key.Program))
	return filepath.Join(c.Dir, fmt.Sprintf("%s-%x.json", key.Agent, sum[:6]))
}
