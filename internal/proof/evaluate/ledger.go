package evaluate

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/secrets"
)

const (
	ledgerFolder = "ledger"
	wholeGoal    = "goal" // the file for verdicts on the whole goal
	longestName  = 100    // of a file name, without its extension
)

// Ledger is the ledger of a run, for people to read: one line of JSON per verdict, in
// ledger/TASK.jsonl of the run's folder. The event log is the source of truth.
type Ledger struct {
	folder string
	mask   *secrets.Masker
}

// NewLedger returns the ledger in a run's folder, without the secrets that mask knows. It writes nothing yet.
func NewLedger(folder string, mask *secrets.Masker) Ledger {
	return Ledger{filepath.Join(folder, ledgerFolder), mask}
}

// Entry is one line of the ledger.
type Entry struct {
	Time      time.Time `json:"time"`
	Iteration int       `json:"iteration"`
	Case      string    `json:"case,omitempty"` // that the worker submitted
	ralph.Evaluation
}

// Append adds a verdict to the file of its task. Storage errors wrap ralph.ErrIO.
func (b Ledger) Append(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	if err := os.MkdirAll(b.folder, 0o700); err != nil {
		return fmt.Errorf("make ledger folder: %w: %w", ralph.ErrIO, err)
	}
	f, err := os.OpenFile(b.File(e.Task), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open ledger: %w: %w", ralph.ErrIO, err)
	}
	_, err = f.Write(append(b.mask.Bytes(line), '\n'))
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("write ledger: %w: %w", ralph.ErrIO, err)
	}
	return nil
}

// File returns the path of the verdicts on a task.
func (b Ledger) File(task string) string { return filepath.Join(b.folder, fileName(task)+".jsonl") }

// deviceNames are names that Windows reserves for devices.
var deviceNames = []string{
	"con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
}

// fileName turns a task's id into a name that is valid on every system: bytes other than plain
// letters, digits and a few signs are written as their number.
func fileName(task string) string {
	if task == "" {
		return wholeGoal
	}
	stem, _, _ := strings.Cut(strings.ToLower(task), ".")
	odd := stem == wholeGoal || slices.Contains(deviceNames, stem)
	var b strings.Builder
	for i := range len(task) {
		c := task[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' ||
			c == '.' && i > 0
		if plain && !(odd && i == 0) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	name := b.String()
	if len(name) > longestName {
		sum := sha256.Sum256([]byte(task))
		name = fmt.Sprintf("%s~%x", name[:longestName-20], sum[:8])
	}
	return name
}
