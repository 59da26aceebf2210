package runlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
)

// Summary is a run in a list: what its first and last events tell.
type Summary struct {
	Run        string           `json:"run_id"`
	StartedAt  time.Time        `json:"started_at"`
	UpdatedAt  time.Time        `json:"updated_at"`
	Goal       string           `json:"goal"`
	SpecFile   string           `json:"spec_file"`
	TaskFile   string           `json:"task_file"`
	Agent      string           `json:"agent"`
	Iterations int              `json:"iterations"` // started
	Status     ralph.Status     `json:"status"`
	Reason     ralph.StopReason `json:"stop_reason"` // "" while the run has not ended
	ExitCode   int              `json:"exit_code"`   // of a run that has ended
	Demo       bool             `json:"demo"`
	// somebody works on it now; a run that has not ended and is not live was cut off
	Live   bool   `json:"live"`
	Broken string `json:"broken"` // why there is nothing to tell; "" for a good run
}

// endSize is how much of each end of a log is read at first. The first event holds the settings of the run and is the longest.
const endSize = 16 << 10

// ErrNoRun says that a workspace has no run that fits.
var ErrNoRun = errors.New("no such run")

// errNoEvent says that a run was cut before its first event was on disk.
var errNoEvent = errors.New("the log holds no event")

// Runs lists the runs of the workspace, newest first. It reads only both ends of each log.
func (s *Store) Runs() ([]Summary, error) {
	names, err := s.names()
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	owner, held := s.Holder()
	summaries := make([]Summary, 0, len(names))
	for _, name := range names {
		summary := Summary{Run: name}
		if err := s.summarise(&summary); err != nil {
			summary = Summary{Run: name, Broken: err.Error()}
		}
		summary.Live = held && owner.Run == name
		summaries = append(summaries, summary)
	}
	return summaries, nil
}

// names lists the folders of runs, newest first.
func (s *Store) names() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "runs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && isPlain(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	slices.Reverse(names)
	return names, nil
}

// Resolve turns what a user typed into the name of a run: nothing stands for the newest run that wrote anything, otherwise it is a name or the
// beginning of one, in either case of letters. A damaged log is not passed over: going on with an older run in its place would hide the damage.
func (s *Store) Resolve(name string) (string, error) {
	names, err := s.names()
	if err != nil {
		return "", fmt.Errorf("find run: %w", err)
	}
	if name == "" {
		for _, candidate := range names {
			err := s.summarise(&Summary{Run: candidate})
			if !errors.Is(err, errNoEvent) && !errors.Is(err, fs.ErrNotExist) {
				return candidate, nil
			}
		}
		return "", fmt.Errorf("find run: %w: this workspace has none", ErrNoRun)
	}
	var fitting []string
	for _, candidate := range names {
		if strings.EqualFold(candidate, name) {
			return candidate, nil
		}
		if len(candidate) > len(name) && strings.EqualFold(candidate[:len(name)], name) {
			fitting = append(fitting, candidate)
		}
	}
	switch {
	case len(fitting) == 1:
		return fitting[0], nil
	case len(fitting) > 1:
		return "", fmt.Errorf("find run: %w: %q fits %s", ErrNoRun, name, someOf(fitting))
	case len(names) == 0:
		return "", fmt.Errorf("find run: %w: %q; this workspace has none", ErrNoRun, name)
	}
	return "", fmt.Errorf("find run: %w: %q; there are %s", ErrNoRun, name, someOf(names))
}

func someOf(names []string) string {
	const shown = 8
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}

func (s *Store) summarise(summary *Summary) error {
	file, err := os.Open(s.logPath(summary.Run))
	if err != nil {
		return err
	}
	defer file.Close()
	r := s.reader(summary.Run, decodeAll)
	first, err := r.first(file)
	if err != nil {
		return err
	}
	started, ok := first.Data.(ralph.RunStarted)
	if !ok || first.Seq != 1 {
		return fmt.Errorf("the log begins with %s, event %d", first.Type, first.Seq)
	}
	summary.StartedAt, summary.UpdatedAt = first.Time, first.Time
	summary.Goal, summary.SpecFile, summary.TaskFile = started.Goal, started.SpecFile, started.TaskFile
	summary.Agent, summary.Demo = started.Agent, started.Demo
	summary.Status = ralph.StatusActive
	last, err := r.last(file)
	if err != nil {
		return err
	}
	summary.end(last)
	return nil
}

// end takes in the last events of a log, newest first.
func (s *Summary) end(events []ralph.Event) {
	for i, e := range events {
		if i == 0 {
			s.UpdatedAt = e.Time
		}
		s.Iterations = max(s.Iterations, e.Iteration)
		switch data := e.Data.(type) {
		case ralph.Waiting:
			switch {
			case i == 0 && data.For == ralph.WaitPause:
				s.Status = ralph.StatusPaused
			case i == 0:
				s.Status = ralph.StatusWaiting
			}
		case ralph.RunStopped:
			s.Status, s.Reason, s.ExitCode = data.Status, data.Reason, data.ExitCode
			return
		case ralph.RunResumed:
			s.Agent = data.Agent
			return
		}
	}
}

// first reads the first event of a log.
func (r *reader) first(file io.Reader) (ralph.Event, error) {
	line, err := readLine(bufio.NewReaderSize(file, endSize), nil)
	switch {
	case errors.Is(err, io.EOF):
		return ralph.Event{}, errNoEvent
	case errors.Is(err, errNoEnd):
		return ralph.Event{}, r.damaged(err)
	case err != nil:
		return ralph.Event{}, fmt.Errorf("read log: %w", err)
	}
	event, _, err := r.event(line[:len(line)-1])
	if _, newer := errors.AsType[*TooNew](err); err != nil && !newer {
		err = r.damaged(err)
	}
	return event, err
}

// last reads the last events of a log, newest first: those that stand whole in its last bytes, but at least one. A torn last line is left out.
func (r *reader) last(file *os.File) ([]ralph.Event, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	for span := int64(endSize); ; span *= 4 {
		from := max(0, info.Size()-span)
		tail := make([]byte, info.Size()-from)
		if _, err := file.ReadAt(tail, from); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		lines := bytes.Split(tail, []byte{'\n'})
		lines = lines[:len(lines)-1]
		if from > 0 && len(lines) > 0 {
			lines = lines[1:] // cut in the middle
		}
		var events []ralph.Event
		for i, line := range slices.Backward(lines) {
			event, _, err := r.event(line)
			switch {
			case err == nil:
				events = append(events, event)
			case i < len(lines)-1 || !errors.Is(err, errSum):
				return nil, err
			}
		}
		if len(events) > 0 || from == 0 {
			return events, nil
		}
	}
}
