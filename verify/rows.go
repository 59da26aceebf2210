package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/atomicfile"
	"github.com/ralphloop/ralph/internal/proof/canary"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

const (
	// rowAge is how long a row may be used.
	rowAge = 30 * 24 * time.Hour
	// maxRows and maxRowBytes limit the rows of one file, and maxRowsBytes the file.
	maxRows, maxRowBytes, maxRowsBytes = 200, 4 << 20, 32 << 20
)

// Rows are results of checks on trees that later runs may begin with. Such a run uses them as its baseline. They are in
// a file, which an agent could forge, so they are only for runs whose agents cannot reach it. A run reads the file of
// the run before it when it begins, and writes its own when all of its processes are gone.
type Rows struct {
	RowsConfig

	mu      sync.Mutex
	known   []row           // of earlier runs
	base    []row           // of this run, before any agent worked
	claimed []row           // of trees that this run's agents claim
	dropped map[string]bool // commands that do not always end in the same way
	// compiled is what Python compiled for the baseline: without it, each view would compile it anew.
	compiled, lastCompiled keptCache
}

// RowsConfig says where rows are, and what they depend on beside a tree and a check.
type RowsConfig struct {
	Run  string // the run that adds rows
	File string // where it keeps them
	// Version is Ralph's. Rows of another one do not count.
	Version string
	// Setting identifies everything else that decides how checks end: variables, programs, settings.
	Setting string
}

// row is how a check ended on a tree.
type row struct {
	Run      string            `json:"run"` // the run in which it ran
	Time     time.Time         `json:"time"`
	Key      string            `json:"key"`
	Command  string            `json:"command"`
	Snapshot string            `json:"snapshot"`
	Head     string            `json:"head,omitempty"`
	Result   ralph.CheckResult `json:"result"`
	Outcome  canary.Outcome    `json:"outcome"`
}

// rowsFile is the content of a file of rows. They include the names of tests of hidden checks.
type rowsFile struct {
	Version string            `json:"version"`
	Rows    []json.RawMessage `json:"rows"`
	// Compiled has the digest of every file in the folder with what Python compiled.
	Compiled map[string]digest `json:"compiled,omitempty"`
}

// compiledIn returns the folder beside a file of rows with what Python compiled.
func compiledIn(file string) string { return filepath.Join(filepath.Dir(file), bytecode.name) }

// RemoveRows removes what a run kept for later ones in a file, and beside it; with "" nothing.
func RemoveRows(file string) error {
	if file == "" {
		return nil
	}
	err := os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, os.RemoveAll(compiledIn(file))); err != nil {
		return fmt.Errorf("remove rows: %w", err)
	}
	return nil
}

// OpenRows returns the rows that the last run kept in a file, if its log has this digest of them. A file that is not as
// that run left it counts as empty.
func OpenRows(config RowsConfig, last, sum string) *Rows {
	r := &Rows{RowsConfig: config, dropped: map[string]bool{}}
	text, err := readRows(last)
	var file rowsFile
	if err != nil || sum == "" || sumOf(text) != sum || json.Unmarshal(text, &file) != nil ||
		file.Version != config.Version {
		return r
	}
	if len(file.Compiled) > 0 {
		r.lastCompiled = keptCache{compiledIn(last), file.Compiled}
	}
	for _, text := range file.Rows {
		var known row
		if json.Unmarshal(text, &known) != nil {
			continue
		}
		if age := time.Since(known.Time); age >= 0 && age < rowAge {
			r.known = append(r.known, known)
		}
	}
	return r
}

func readRows(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxRowsBytes))
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Keep writes the rows of a run that ends with this status, and those of earlier ones, newest first. It returns a
// digest of the file; "" if there are none.
func (r *Rows) Keep(end ralph.Status) (sum string, err error) {
	if r == nil {
		return "", nil
	}
	rows := slices.Concat(r.base, r.known)
	if end == ralph.StatusCompleted {
		rows = slices.Concat(r.claimed, rows)
	}
	file, size := rowsFile{Version: r.Version}, 0
	seen := map[string]bool{}
	for _, row := range rows {
		text, err := json.Marshal(row)
		if err != nil {
			return "", fmt.Errorf("keep rows: %w", err)
		}
		id := row.Key + row.Snapshot
		if r.dropped[row.Command] || seen[id] || len(text) > maxRowBytes || size+len(text) > maxRowsBytes/2 {
			continue
		}
		seen[id], size = true, size+len(text)
		if file.Rows = append(file.Rows, text); len(file.Rows) == maxRows {
			break
		}
	}
	if len(file.Rows) == 0 {
		return "", nil
	}
	file.Compiled = r.keepCompiled()
	if last := r.lastCompiled.folder; last != "" {
		_ = os.RemoveAll(last) // it only takes space
	}
	text, err := json.Marshal(file)
	if err == nil {
		err = atomicfile.Write(r.File, text, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("keep rows: %w", err)
	}
	return sumOf(text), nil
}

// keepCompiled moves what Python compiled beside the rows, and returns the digests of its files.
func (r *Rows) keepCompiled() map[string]digest {
	kept := r.compiled
	if kept.folder == "" || os.Rename(kept.folder, compiledIn(r.File)) != nil {
		return nil // later checks are slower, and nothing else
	}
	return kept.sums
}

// drop forgets a check that does not always end in the same way.
func (r *Rows) drop(command string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped[command] = true
}

// add keeps a run that ended by itself and changed no test, for the runs that begin with this tree.
func (r *Rows) add(to *[]row, key string, in ralph.ViewInput, check ralph.CheckInput, run namedRun) {
	result := run.result
	if key == "" || !result.RanToEnd() || run.outcome.BrokeOff() || len(run.written) > 0 || result.Survivors > 0 {
		return
	}
	result.Tests, result.OutputHash = nil, "" // the outcome has the names, and no file the output
	r.mu.Lock()
	defer r.mu.Unlock()
	*to = append(*to, row{
		Run: r.Run, Time: time.Now().UTC(), Key: key, Command: command(check),
		Snapshot: in.Now.Snapshot, Head: in.Now.Head, Result: result, Outcome: run.outcome,
	})
}

// rowFinder finds the rows that an examiner may use.
type rowFinder struct{ *Examiner }

// key identifies what decides how a check ends in a view, apart from the tree. It is "" if rows cannot be used: the
// view is not of the tree as it is, or the check gets an answer, dependencies or tests that are not part of it.
func (e rowFinder) key(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) string {
	ofTree := in.Kind == ralph.ViewClaimed || in.Kind == ralph.ViewHidden
	if e.Rows == nil || !ofTree || in.Now.Snapshot == "" || in.Answer != nil || e.GivenDir != "" {
		return ""
	}
	mode, _, err := e.mode(ctx, request{ViewInput: in})
	if err != nil || mode == pristine.InPlace || !outside(e).isWatched() {
		return ""
	}
	found, err := e.classify(ctx, in.Base, in.Now)
	if err != nil || len(found.meaning.Tampered)+len(found.meaning.Unseen) > 0 {
		return ""
	}
	look, err := outside(e).look(ctx, found)
	if err != nil || e.setsUp(look) {
		return ""
	}
	beside := look.sorted.Shown(look.list).Identity()
	parts := fmt.Sprintf("%q", []string{
		e.Rows.Setting, string(in.Kind), string(in.Access), string(mode), check.Name, command(check), beside,
	})
	return sumOf([]byte(parts))
}

// reuse returns how a check ended on this base in an earlier run. What fails may do so because of what is committed, so
// the commit must be the same. Without its baseline, a check with cargo would compile everything again in each run.
func (e rowFinder) reuse(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (run namedRun, ok bool) {
	if e.Rows == nil || in.Iteration > 0 || in.Base.Snapshot != in.Now.Snapshot {
		return run, false
	}
	key := e.key(ctx, in, check)
	tree, err := e.viewTree(ctx, in)
	if key == "" || err != nil || usesCargoTarget(e.Shell, tree, command(check)) {
		return run, false
	}
	for _, known := range e.Rows.known {
		if known.Key != key || known.Outcome.Red && known.Head != in.Now.Head {
			continue
		}
		if changes, err := e.Snapshots.Changes(ctx, known.Snapshot, in.Now.Snapshot); err != nil || len(changes) > 0 {
			continue
		}
		run = namedRun{outcome: known.Outcome, result: known.Result}
		run.result.Tests = run.outcome.Seen()
		run.result.Reused = known.Run
		if e.memory.caches[bytecode.name].folder == "" && e.Rows.lastCompiled.folder != "" {
			e.memory.keepCache(bytecode, e.Rows.lastCompiled)
			e.Rows.compiled = e.Rows.lastCompiled
		}
		return run, true
	}
	return run, false
}

// remember keeps a run of the baseline.
func (e rowFinder) remember(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput, run namedRun) {
	if e.Rows != nil && in.Iteration == 0 && in.Base.Snapshot == in.Now.Snapshot {
		e.Rows.add(&e.Rows.base, e.key(ctx, in, check), in, check, run)
	}
}
