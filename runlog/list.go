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

	"github.com/oklog/ulid/v2"

	"github.com/ralphloop/ralph"
)

// Summary describes a run in a list, from its first and last events.
type Summary struct {
	Run        string           `json:"run_id"`
	StartedAt  time.Time        `json:"started_at"`
	UpdatedAt  time.Time        `json:"updated_at"`
	Goal       string           `json:"goal"`
	SpecFile   string           `json:"spec_file"`
	TaskFile   string           `json:"task_file"`
	Worktree   *ralph.Worktree  `json:"-"` // nil if the run works in the workspace itself
	Agent      string           `json:"agent"`
	Iterations int              `json:"iterations"` // started
	Status     ralph.Status     `json:"status"`
	Reason     ralph.StopReason `json:"stop_reason"` // "" while the run has not ended
	ExitCode   *int             `json:"exit_code"`   // nil while the run has not ended
	Demo       bool             `json:"demo"`
	InSession  bool             `json:"in_session"` // the agent is a live session, so no process need work on it
	// Live means that a process works on the run now. A run that has not ended and is not live was
	// interrupted.
	Live   bool   `json:"live"`
	Broken string `json:"broken"` // why the run is unreadable; "" if it is not
}

// endSize is how much of each end of a log is read at first. The first event holds the settings of
// the run and is the longest.
const endSize = 16 << 10

// ErrNoRun means that no run of the workspace matches.
var ErrNoRun = errors.New("no such run")

// errNoEvent means that a run ended before its first event was on disk.
var errNoEvent = errors.New("the log has no events")

// Runs lists the runs of the workspace, newest first. It reads only the start and the end of each
// log.
func (s *Store) Runs() ([]Summary, error) {
	names, err := s.names()
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	owner, held := s.Holder()
	summaries := make([]Summary, 0, len(names))
	for _, name := range names {
		summary := Summary{Run: name}
		if err := s.summarize(&summary); err != nil {
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
		if entry.IsDir() && isPlainName(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	slices.Reverse(names)
	return names, nil
}

// NewRunID returns an ID that is greater than that of every run of the workspace, even if the clock went back: the
// newest run is the one that started last.
func (s *Store) NewRunID(now time.Time) string {
	names, err := s.names()
	for _, name := range names {
		id, invalid := ulid.ParseStrict(name)
		if err != nil || invalid != nil {
			continue
		}
		if newest := id.Timestamp(); !newest.Before(now.Truncate(time.Millisecond)) && id.Time() < ulid.MaxTime() {
			now = newest.Add(time.Millisecond)
		}
		break
	}
	return ralph.NewRunID(now)
}

// Resolve turns what a user typed into the name of a run. An empty name means the newest run that
// has events. Otherwise it is a name or a prefix of one, ignoring case. A damaged log is not
// skipped: resuming an older run instead would hide the damage.
func (s *Store) Resolve(name string) (string, error) {
	names, err := s.names()
	if err != nil {
		return "", fmt.Errorf("find run: %w", err)
	}
	if name == "" {
		for _, candidate := range names {
			err := s.summarize(&Summary{Run: candidate})
			if !errors.Is(err, errNoEvent) && !errors.Is(err, fs.ErrNotExist) {
				return candidate, nil
			}
		}
		return "", fmt.Errorf("find run: %w: this workspace has no runs", ErrNoRun)
	}
	var matching []string
	for _, candidate := range names {
		if strings.EqualFold(candidate, name) {
			return candidate, nil
		}
		if len(candidate) > len(name) && strings.EqualFold(candidate[:len(name)], name) {
			matching = append(matching, candidate)
		}
	}
	switch {
	case len(matching) == 1:
		return matching[0], nil
	case len(matching) > 1:
		return "", fmt.Errorf("find run: %w: %q matches several runs: %s", ErrNoRun, name, listSome(matching))
	case len(names) == 0:
		return "", fmt.Errorf("find run: %w: %q; this workspace has no runs", ErrNoRun, name)
	}
	return "", fmt.Errorf("find run: %w: %q; the runs are %s", ErrNoRun, name, listSome(names))
}

func listSome(names []string) string {
	const shown = 8
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}

func (s *Store) summarize(summary *Summary) error {
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
	summary.Agent, summary.Demo, summary.Worktree = started.Agent, started.Demo, started.Worktree
	summary.InSession = started.InSession
	summary.Status = ralph.StatusActive
	last, err := r.last(file)
	if err != nil {
		return err
	}
	summary.end(last)
	return nil
}

// end applies the last events of a log, newest first.
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
			s.Status, s.Reason, s.ExitCode = data.Status, data.Reason, &data.ExitCode
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

// last reads the last events of a log, newest first: those complete in its last bytes, but at least
// one. It omits a torn last line.
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
			lines = lines[1:] // the first line is incomplete
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
