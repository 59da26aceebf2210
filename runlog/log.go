package runlog

import (
	"bytes"
	"cmp"
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

// Log is the open log of a run. Several goroutines may use it, but only one Log of a run may be
// open.
type Log struct {
	run  string
	path string

	mu     sync.Mutex
	disk   disk
	line   bytes.Buffer
	seq    int64 // of the last event
	size   int64 // of the whole lines
	link   link  // that the next line carries
	folder int   // last iteration that asked for a folder, plus one
	broken error // set when nothing may be written anymore
	lost   error // set when an event may not survive a power cut
}

// disk is what a log needs from its file. Tests replace it with one that fails.
type disk interface {
	Write(p []byte) (int, error)
	Truncate(size int64) error
	Flush() error
	Close() error
}

type logFile struct{ *os.File }

// Flush also checks that the log is still reachable: on Unix, writing to a deleted file succeeds
// and keeps nothing.
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

// Dir returns the folder of the run.
func (l *Log) Dir() string { return filepath.Dir(l.path) }

// Append writes the next event in the sequence. It survives the death of this process, but not a
// power cut before Sync. If it fails, the log is unchanged.
func (l *Log) Append(e ralph.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return fmt.Errorf("append event: %w", l.broken)
	}
	if e.Version != ralph.EventVersion || e.Run != l.run || e.Seq != l.seq+1 {
		return fmt.Errorf("append event: got version %d, run %q, sequence number %d; want %d, %q, %d",
			e.Version, e.Run, e.Seq, ralph.EventVersion, l.run, l.seq+1)
	}
	l.line.Reset()
	if err := appendLine(&l.line, e, l.link); err != nil {
		return fmt.Errorf("append event: %w", err)
	}
	if _, err := l.disk.Write(l.line.Bytes()); err != nil {
		err = ioError("write", l.path, err)
		return fmt.Errorf("append event: %w", errors.Join(err, l.cutBack()))
	}
	l.seq++
	l.size += int64(l.line.Len())
	l.link = linkOf(l.line.Bytes())
	return nil
}

// cutBack removes everything after the last whole line. If that fails, the log is closed for
// writing: an event after half a line would make the log look damaged.
func (l *Log) cutBack() error {
	l.broken = ioError("truncate", l.path, l.disk.Truncate(l.size))
	return l.broken
}

// Sync returns when everything appended is on stable storage. It does not retry after a failure:
// the system may have dropped the data, and a second call would report success.
func (l *Log) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost = cmp.Or(l.lost, l.broken); l.lost == nil {
		l.lost = ioError("fsync", l.path, l.disk.Flush())
	}
	if l.lost != nil {
		return fmt.Errorf("sync log: %w", l.lost)
	}
	return nil
}

// Folder creates and returns the folder for the files of an iteration. Iteration 0 is the baseline.
func (l *Log) Folder(iteration int) (string, error) {
	path := iterationDir(l.Dir(), iteration)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.folder == iteration+1 {
		return path, nil
	}
	if err := os.MkdirAll(path, folderMode); err != nil {
		return "", fmt.Errorf("create folder of iteration %d: %w", iteration, ioError("mkdir", path, err))
	}
	l.folder = iteration + 1
	return path, nil
}

// WriteResult writes the result of the run beside its log.
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
	l.broken = ioError("write", l.path, fs.ErrClosed)
	if err := l.disk.Close(); err != nil {
		return fmt.Errorf("close log: %w", ioError("close", l.path, err))
	}
	return nil
}
