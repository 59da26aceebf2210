package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/ralphloop/ralph"
)

var (
	_ ralph.Recorder = (*Log)(nil)
	_ ralph.Folders  = (*Log)(nil)
	_ ralph.Inbox    = (*Log)(nil)
)

// Log is the open log of a run. It may be used by several goroutines, but only one Log of a run may be open.
type Log struct {
	run  string
	path string

	mu     sync.Mutex
	disk   disk
	line   bytes.Buffer
	seq    int64 // of the last event
	size   int64 // of the whole lines
	link   link  // that the next line carries
	folder int   // of the last iteration that asked for one, plus one
	broken error // nothing may be written any more
}

// disk is what a log needs of its file. Tests put a failing one in its place.
type disk interface {
	Write(p []byte) (int, error)
	Truncate(size int64) error
	Flush() error
	Close() error
}

type logFile struct{ *os.File }

// Flush also finds out whether the log can still be reached: writing to a file that was deleted works on unix, and keeps nothing.
func (f *logFile) Flush() error {
	if err := f.Sync(); err != nil {
		return err
	}
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	switch info, err := os.Stat(f.Name()); {
	case err != nil:
		return err
	case !os.SameFile(info, opened):
		return errors.New("the file was replaced by another")
	}
	return nil
}

func newLog(run string, file *os.File) *Log {
	return &Log{run: run, path: file.Name(), disk: &logFile{file}, link: linkOf(nil)}
}

// Dir is the folder of the run.
func (l *Log) Dir() string { return filepath.Dir(l.path) }

// Append writes one event: the next in the sequence. It survives the death of this process, but not a power cut before Sync. If it fails, the
// log is as it was before.
func (l *Log) Append(e ralph.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return fmt.Errorf("append event: %w", l.broken)
	}
	if e.Version != ralph.EventVersion || e.Run != l.run || e.Seq != l.seq+1 {
		return fmt.Errorf("append event: version %d, run %q, sequence number %d, where the log wants %d, %q, %d",
			e.Version, e.Run, e.Seq, ralph.EventVersion, l.run, l.seq+1)
	}
	l.line.Reset()
	if err := appendLine(&l.line, e, l.link); err != nil {
		return fmt.Errorf("append event: %w", err)
	}
	if _, err := l.disk.Write(l.line.Bytes()); err != nil {
		err = unwritable("write", l.path, err)
		return fmt.Errorf("append event: %w", errors.Join(err, l.cutBack()))
	}
	l.seq++
	l.size += int64(l.line.Len())
	l.link = linkOf(l.line.Bytes())
	return nil
}

// cutBack removes what stands behind the last whole line. If that fails the log is closed to writing: an event behind half a line would make
// the log look damaged.
func (l *Log) cutBack() error {
	l.broken = unwritable("truncate", l.path, l.disk.Truncate(l.size))
	return l.broken
}

// Sync returns when everything that was appended is on stable storage. It is not tried again after a failure: the system may have thrown the
// data away, and a second call would report success.
func (l *Log) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil {
		l.broken = unwritable("fsync", l.path, l.disk.Flush())
	}
	if l.broken != nil {
		return fmt.Errorf("sync log: %w", l.broken)
	}
	return nil
}

// Folder gives the folder for what an iteration leaves behind, and creates it. Iteration 0 is the baseline.
func (l *Log) Folder(iteration int) (string, error) {
	path := iterationDir(l.Dir(), iteration)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.folder == iteration+1 {
		return path, nil
	}
	if err := os.MkdirAll(path, folderMode); err != nil {
		return "", fmt.Errorf("create folder of iteration %d: %w", iteration, unwritable("mkdir", path, err))
	}
	l.folder = iteration + 1
	return path, nil
}

// WriteResult leaves the result of the run beside its log.
func (l *Log) WriteResult(result ralph.Result) error {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(result); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	if err := replaceFile(filepath.Join(l.Dir(), resultName), content.Bytes()); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// Close closes the file; it does not sync.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.broken, fs.ErrClosed) {
		return nil
	}
	l.broken = unwritable("write", l.path, fs.ErrClosed)
	if err := l.disk.Close(); err != nil {
		return fmt.Errorf("close log: %w", unwritable("close", l.path, err))
	}
	return nil
}
