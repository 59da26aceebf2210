package runlog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

const (
	logName       = "events.jsonl"
	resultName    = "result.json"
	workspaceName = "workspace"
	lockName      = "lock"
)

// Store holds the runs of one workspace. Several goroutines may use it.
type Store struct {
	workspace string // absolute, symbolic links resolved
	dir       string

	mu   sync.Mutex
	held *Lock // the lock held by this store
}

// Open returns the store of a workspace below stateDir. It creates nothing. The first Lock or
// Create does, and returns ErrIO if it cannot.
func Open(stateDir, workspace string) (*Store, error) {
	state, err := filepath.Abs(stateDir)
	if err != nil {
		return nil, fmt.Errorf("open state: %w", err)
	}
	if err := needFolder(state); err != nil {
		return nil, fmt.Errorf("open state: %w", err)
	}
	store := &Store{workspace: resolved(workspace), dir: filepath.Join(state, WorkspaceID(workspace))}
	if _, err := os.Stat(store.dir); errors.Is(err, fs.ErrNotExist) {
		store.dir = cmp.Or(formerDir(state, store.workspace), store.dir)
	}
	return store, nil
}

// formerDir returns the folder of a workspace that was moved and left a link in its old place, or "". Otherwise
// moving a workspace would make its runs forgotten.
func formerDir(state, workspace string) string {
	entries, _ := os.ReadDir(state)
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(state, entry.Name(), workspaceName))
		old := strings.TrimSuffix(string(text), "\n")
		if err == nil && old != workspace && filepath.IsAbs(old) && resolved(old) == workspace {
			return filepath.Join(state, entry.Name())
		}
	}
	return ""
}

// needFolder detects early that something else is in the place of the state folder.
func needFolder(path string) error {
	for {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			return nil
		}
		if err == nil {
			return ioError("open", path, errors.New("not a folder"))
		}
		parent := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) || parent == path {
			return ioError("open", path, err)
		}
		path = parent
	}
}

// WorkspaceID returns the name of a workspace's folder: a readable part, and a hash of the
// workspace's resolved path.
func WorkspaceID(dir string) string {
	const longest = 40
	path := resolved(dir)
	var name strings.Builder
	for _, r := range strings.ToLower(filepath.Base(path)) {
		switch {
		case name.Len() >= longest:
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			name.WriteRune(r)
		case name.Len() > 0 && !strings.HasSuffix(name.String(), "-"):
			name.WriteByte('-')
		}
	}
	readable := cmp.Or(strings.TrimSuffix(name.String(), "-"), "workspace")
	hash := sha256.Sum256([]byte(path))
	return readable + "-" + hex.EncodeToString(hash[:5])
}

func resolved(dir string) string {
	path, err := filepath.Abs(dir)
	if err != nil {
		path = filepath.Clean(dir)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// Dir returns the folder of the workspace's state. It may not exist yet.
func (s *Store) Dir() string { return s.dir }

// AgentOutput returns the files with what the agent of an iteration printed on standard output and standard error.
func (s *Store) AgentOutput(run string, iteration int) (output, complaints string) {
	dir := iterationDir(s.RunDir(run), iteration)
	return filepath.Join(dir, "agent.jsonl"), filepath.Join(dir, "agent.stderr")
}

func iterationDir(runDir string, iteration int) string {
	return filepath.Join(runDir, "iterations", fmt.Sprintf("%04d", iteration))
}

// RunDir returns the folder of a run.
func (s *Store) RunDir(run string) string { return filepath.Join(s.dir, "runs", run) }

func (s *Store) logPath(run string) string { return filepath.Join(s.RunDir(run), logName) }

// prepare creates the folder of the workspace and the note that names the workspace.
func (s *Store) prepare() error {
	if err := makeFolder(filepath.Join(s.dir, "runs")); err != nil {
		return err
	}
	note := filepath.Join(s.dir, workspaceName)
	if _, err := os.Lstat(note); err == nil {
		return nil
	}
	return replaceFile(note, []byte(s.workspace+"\n"))
}

// Create starts the log of a new run. The caller closes it.
func (s *Store) Create(run string) (*Log, error) {
	if !isPlainName(run) {
		return nil, fmt.Errorf("create run: %q is not a valid run name", run)
	}
	if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	dir := s.RunDir(run)
	if err := os.Mkdir(dir, folderMode); err != nil {
		return nil, fmt.Errorf("create run: %w", ioError("mkdir", dir, err))
	}
	file, err := os.OpenFile(s.logPath(run), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, fileMode)
	if err != nil {
		return nil, fmt.Errorf("create run: %w", ioError("create", s.logPath(run), err))
	}
	if err := errors.Join(flushFolder(dir), flushFolder(filepath.Dir(dir))); err != nil {
		file.Close()
		return nil, fmt.Errorf("create run: %w", err)
	}
	return newLog(run, file), nil
}

// ErrBegun means that a run has events, so it is not discarded.
var ErrBegun = errors.New("the run has already started")

// Discard removes the folder of a run that could not start. It keeps a run with anything in its
// log. The caller holds the lock and has closed the log.
func (s *Store) Discard(run string) error {
	if !isPlainName(run) {
		return fmt.Errorf("discard run: %q is not a valid run name", run)
	}
	info, err := os.Stat(s.logPath(run))
	switch {
	case err == nil && info.Size() > 0:
		return fmt.Errorf("discard run %s: %w", run, ErrBegun)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("discard run: %w", ioError("stat", s.logPath(run), err))
	}
	if err := os.RemoveAll(s.RunDir(run)); err != nil {
		return fmt.Errorf("discard run: %w", ioError("remove", s.RunDir(run), err))
	}
	return nil
}

// Reopen resumes a run: it reads and verifies the whole log, folds it into the run's state, cuts
// off a torn last line, and makes the log ready to append. It refuses a log that was cut or changed
// since it was written, as far as its chain and result.json show that, and leaves it as it is. The
// caller holds the lock and closes the log.
func (s *Store) Reopen(run string, into Folder) (*Log, Tail, error) {
	log, tail, err := s.reopen(run, into)
	if err != nil {
		return nil, Tail{}, fmt.Errorf("reopen run: %w", err)
	}
	return log, tail, nil
}

func (s *Store) reopen(run string, into Folder) (*Log, Tail, error) {
	if owner, ok := s.heldElsewhere(); ok { // its last line may be in the middle of being written
		return nil, Tail{}, &Locked{Path: s.lockPath(), Owner: owner}
	}
	read, err := s.fold(run, into)
	if err != nil {
		return nil, Tail{}, err
	}
	path := s.logPath(run)
	chain, err := Verify(path)
	if err != nil {
		return nil, Tail{}, err
	}
	if chain.Break != nil {
		return nil, Tail{}, &Damaged{Path: path, Offset: chain.Break.Offset, Line: chain.Break.Seq, Why: chain.Break.Why}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, fileMode)
	if err != nil {
		return nil, Tail{}, ioError("open", path, err)
	}
	log := newLog(run, file)
	log.seq, log.size = read.seq, read.offset
	err = log.linkFrom(read.linked)
	if err == nil && read.tail > 0 {
		err = log.cutBack()
	}
	if err != nil {
		file.Close()
		return nil, Tail{}, err
	}
	return log, Tail{Dropped: read.tail}, nil
}
