package runlog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

const (
	goalName     = "goal.json"
	goalLockName = "goal.lock"
	environName  = "environment.json" // in the run's folder
	unloggedName = "unlogged.json"    // in the run's folder
	judgeName    = "judge.log"        // in the run's folder
	sessionsName = "sessions"         // in the state folder: which workspace has the goal of a session
)

// Goal is what a hook of a live session must know at once about the goal of its workspace. It is an index of the
// run's log: only the log says whether the goal is reached.
type Goal struct {
	Run       string              `json:"run"`
	Workspace string              `json:"workspace"`
	Session   *ralph.SessionBound `json:"session,omitempty"` // nil until a session takes the goal
	Paused    bool                `json:"paused,omitempty"`
	Ended     ralph.Status        `json:"ended,omitempty"`  // "" until the run has ended
	Prompt    string              `json:"prompt,omitempty"` // what the session has to know
	Untold    bool                `json:"untold,omitempty"` // Prompt has a person's words that the session has not got
	Protects  ProtectedNames      `json:"protects,omitzero"`
	Judging   *Judging            `json:"judging,omitempty"`
	Answer    *GoalAnswer         `json:"answer,omitempty"`  // of the last judgement
	Blocks    int                 `json:"blocks,omitempty"`  // stops in a row that were blocked
	Trouble   string              `json:"trouble,omitempty"` // why Ralph could not judge the last stop
}

// Unlogged is what a goal's index knows before the log of its run does. The run's folder has it, too, so that the index
// can be made again: no process that only notes this may write to the log.
type Unlogged struct {
	Session *ralph.SessionBound `json:"session,omitempty"`
	Paused  bool                `json:"paused,omitempty"`
}

// ProtectedNames are the files that a run protects.
type ProtectedNames struct {
	Names []string `json:"names,omitempty"`
	Globs []string `json:"globs,omitempty"` // of the user
}

// Judging is the process that judges a stop, or that runs the checks before any work.
type Judging struct {
	Owner
	Text  string `json:"text"`            // the agent's last message
	First bool   `json:"first,omitempty"` // no stop is judged: the checks run for the first time
	// Calling are the sessions that the environment of the hook names. Of these, too, no process may run meanwhile.
	Calling []string `json:"calling,omitempty"`
}

// GoalAnswer is what a hook answers to its session.
type GoalAnswer struct {
	Block   bool   `json:"block,omitempty"`
	Text    string `json:"text"`              // for the agent if the stop is blocked, otherwise for the user
	Trouble string `json:"trouble,omitempty"` // why nothing was judged

	Begun  time.Time `json:"begun,omitzero"` // when the judgement began
	Tree   string    `json:"tree,omitempty"` // identifies the files at that time; "" if they do not matter
	Given  time.Time `json:"given,omitzero"`
	Passed bool      `json:"passed,omitempty"` // a hook passed it on
}

// IsFor reports whether the answer is for a hook that began at that time: no hook has passed it on, or this one waited
// for it, too. A user may have installed a hook twice.
func (a *GoalAnswer) IsFor(begun time.Time) bool {
	return a != nil && (!a.Passed || a.Given.After(begun))
}

// Alive reports whether the process that judges is still there.
func (j *Judging) Alive() bool { return j != nil && j.Visible() }

// GoalOf finds the goal of a session: the one that the session has, or else one without a session in the folder or
// the nearest above it. A goal that has ended is found only if there is no other. It reports false if there is none. It
// reads two small files at most for each folder.
func GoalOf(stateDir, session, folder string) (*Store, Goal, bool, error) {
	store, own, ok, err := goalWithSession(stateDir, session)
	if err != nil || ok && own.Ended == "" {
		return store, own, ok, err
	}
	there, goal, found, err := goalInFolder(stateDir, session, folder)
	if ok && (err != nil || !found || goal.Ended != "") {
		return store, own, true, nil
	}
	return there, goal, found, err
}

// goalWithSession finds the goal that a session has, wherever it is.
func goalWithSession(stateDir, session string) (*Store, Goal, bool, error) {
	name, err := os.ReadFile(sessionPath(stateDir, session))
	if err != nil || session == "" || !isPlainName(string(name)) {
		return nil, Goal{}, false, nil
	}
	store := &Store{dir: filepath.Join(stateDir, string(name))}
	goal, ok, err := ReadGoal(store)
	store.workspace = goal.Workspace
	return store, goal, ok && goal.Session != nil && goal.Session.Session == session, err
}

// goalInFolder finds a goal in the folder or the nearest above it, if it is the session's or no session's.
func goalInFolder(stateDir, session, folder string) (*Store, Goal, bool, error) {
	for dir := resolved(folder); ; dir = filepath.Dir(dir) {
		store := &Store{workspace: dir, dir: filepath.Join(stateDir, WorkspaceID(dir))}
		goal, ok, err := ReadGoal(store)
		if err != nil || ok {
			mine := goal.Session == nil || session != "" && goal.Session.Session == session
			return store, goal, ok && mine, err
		}
		if dir == filepath.Dir(dir) {
			return nil, Goal{}, false, nil
		}
	}
}

func sessionPath(stateDir, session string) string {
	hash := sha256.Sum256([]byte(session))
	return filepath.Join(stateDir, sessionsName, hex.EncodeToString(hash[:10]))
}

// ErrGoalDamaged means that the index of a goal has no goal in it.
var ErrGoalDamaged = errors.New("the file is damaged")

// ReadGoal reads the index of the workspace's goal. It reports false if there is none.
func ReadGoal(s *Store) (Goal, bool, error) {
	path := filepath.Join(s.dir, goalName)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Goal{}, false, nil
	}
	if err != nil {
		return Goal{}, false, fmt.Errorf("read goal: %w", ioError("read", path, err))
	}
	var goal Goal
	if err = json.Unmarshal(raw, &goal); err == nil && !isPlainName(goal.Run) {
		err = errors.New("it names no run")
	}
	if err != nil {
		return Goal{}, false, fmt.Errorf("read goal: %w: %w", ErrGoalDamaged, ioError("read", path, err))
	}
	return goal, true, nil
}

// EditGoal changes the index of the workspace's goal while no other process does. edit gets an empty goal if there is
// none, or if the index is damaged. A goal without a run is removed. If edit fails, nothing changes.
func EditGoal(s *Store, edit func(*Goal) error) error {
	if err := s.prepare(); err != nil {
		return fmt.Errorf("write goal: %w", err)
	}
	held := flock.New(filepath.Join(s.dir, goalLockName), flock.SetPermissions(fileMode))
	if err := held.Lock(); err != nil {
		return fmt.Errorf("write goal: %w", ioError("lock", held.Path(), err))
	}
	defer held.Unlock()
	goal, _, err := ReadGoal(s)
	if err != nil && !errors.Is(err, ErrGoalDamaged) {
		return err
	}
	before := goal
	if err := edit(&goal); err != nil {
		return err
	}
	goal.Workspace = s.workspace
	if err := writeGoal(s, goal, before); err != nil {
		return fmt.Errorf("write goal: %w", err)
	}
	return nil
}

func writeGoal(s *Store, goal, earlier Goal) error {
	state, before := filepath.Dir(s.dir), earlier.Session
	if before != nil && (goal.Run == "" || goal.Session == nil || goal.Session.Session != before.Session) {
		if err := os.Remove(sessionPath(state, before.Session)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if path := filepath.Join(s.dir, goalName); goal.Run == "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if bound := goal.Session; bound != nil && (before == nil || before.Session != bound.Session) {
		if err := makeFolder(filepath.Join(state, sessionsName)); err != nil {
			return err
		}
		if err := replaceFile(sessionPath(state, bound.Session), []byte(filepath.Base(s.dir))); err != nil {
			return err
		}
	}
	if goal.Run != earlier.Run || goal.Session != before || goal.Paused != earlier.Paused {
		err := replaceJSON(filepath.Join(s.RunDir(goal.Run), unloggedName), Unlogged{goal.Session, goal.Paused})
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a run that is gone needs none
			return err
		}
	}
	return replaceJSON(filepath.Join(s.dir, goalName), goal)
}

// ReadUnlogged returns what the index of a run's goal knew before its log. It reports false if that is unknown.
func ReadUnlogged(s *Store, run string) (known Unlogged, ok bool) {
	text, err := os.ReadFile(filepath.Join(s.RunDir(run), unloggedName))
	return known, err == nil && json.Unmarshal(text, &known) == nil
}

func replaceJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return replaceFile(path, text)
}

// JudgeOutput opens the file for what the process that judges a stop of a run prints, and empties it. That process
// has no other way to say why it failed before it found its goal.
func JudgeOutput(s *Store, run string) (*os.File, error) {
	path := filepath.Join(s.RunDir(run), judgeName)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, fileMode)
	if err != nil {
		return nil, fmt.Errorf("start to judge: %w", ioError("open", path, err))
	}
	return file, nil
}

// longestLastWords is how much of a judge's output is for people: a panic has a long one.
const longestLastWords = 600

// LastWords returns what the process that judges printed, in one line.
func LastWords(s *Store, run string) string {
	printed, _ := os.ReadFile(filepath.Join(s.RunDir(run), judgeName)) // without it, nothing is known
	short, _ := text.Cut(string(printed), longestLastWords)
	return strings.TrimPrefix(text.OneLine(short), "ralph: ")
}

// KeepEnvironment keeps the variables with which a person set the goal of a run.
func KeepEnvironment(s *Store, run string, environ []string) error {
	if err := replaceJSON(filepath.Join(s.RunDir(run), environName), environ); err != nil {
		return fmt.Errorf("keep environment: %w", err)
	}
	return nil
}

// ReadEnvironment returns the variables that KeepEnvironment kept.
func ReadEnvironment(s *Store, run string) ([]string, error) {
	path := filepath.Join(s.RunDir(run), environName)
	text, err := os.ReadFile(path)
	var environ []string
	if err == nil {
		err = json.Unmarshal(text, &environ)
	}
	if err != nil {
		return nil, fmt.Errorf("read environment: %w", ioError("read", path, err))
	}
	return environ, nil
}

// LockWithin is Lock, but waits for some time while another process has the workspace.
func LockWithin(s *Store, owner Owner, longest time.Duration) (*Lock, error) {
	for begun := time.Now(); ; time.Sleep(lockPause) {
		held, err := s.Lock(owner)
		if _, locked := errors.AsType[*Locked](err); !locked || time.Since(begun) > longest {
			return held, err
		}
	}
}
