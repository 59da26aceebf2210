package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/awake"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/progress"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/runlog"
)

// view shows the current run to a person.
type view interface {
	See(ralph.Event)
	Live(ralph.Activity)
	Say(line string)
	Pause() // until the next event, so that a question can be asked
	Close()
}

// session runs a loop from this terminal, with its lock, log, views and signals.
type session struct {
	*app
	plan         *assembly.Plan
	run          string
	state        fold.State
	store        *runlog.Store
	log          *runlog.Log
	torn         int64
	asked        question // an earlier run's question without an answer
	refused      *ralph.RefusedEarlier
	origin       *ralph.Origin
	between      *ralph.Origin       // of a run that worked here since the resumed one stopped
	unproven     string              // the last run in this workspace, if it did not prove its work
	before       *fold.State         // the last run in this workspace, unless it completed
	acceptance   *ralph.WorkAccepted // set if a person accepts the work and no agent starts
	newSnapshots string              // the worktree's snapshot folder, if this run creates it
	goal         *runlog.Goal        // with the goal of a live session: its index
	setBy        string              // the agent of the session that sets the goal; "" for a person
	afterDeath   bool                // the last process that worked here died, and may have left files
}

// ownOrphans makes this process the parent of processes that agents and checks detach. Call it
// before starting any other process.
func ownOrphans(warn io.Writer) {
	if err := process.OwnOrphans(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		fmt.Fprintf(warn, "ralph: warning: detached processes of an agent may survive: %v\n", err)
	}
}

// begin takes the lock, then starts the run. If the run cannot start, it removes what was created
// for it.
func (s *session) begin(ctx context.Context) (err error) {
	if s.store, err = s.storeOf(s.plan.Workspace); err != nil {
		return err
	}
	s.run = s.store.NewRunID(time.Now())
	held, err := lock(s.store, s.run)
	if err != nil {
		return err
	}
	defer held.Release()
	line := s.streams.ancestors()
	if err := s.besideGoal(line); err != nil {
		return err
	}
	if run := markedRun(s.store, line); run != "" { // its process is gone, or it would hold the lock
		return insideRun("run", run)
	}
	if s.plan.Session == "" { // a session may set a goal
		if err := outsideTaken(s.store, s.streams.Env, line, "run"); err != nil {
			return err
		}
	}
	if s.setBy == "" { // a person starts it, so no conversation has to be open
		err = noneTaken(s.app, s.store)
	} else {
		err = endTaken(s.app, s.store)
	}
	if err != nil {
		return err
	}
	s.afterDeath = s.killLastRun() || held.AfterDeath()
	if s.afterDeath {
		if _, _, err := (elsewhere{s.app, s.store}).endLast(ctx); err != nil {
			return err
		}
	}
	home := s.plan.Workspace
	if err = s.start(ctx); err != nil && !is[exitStatus](err) {
		s.discard(context.WithoutCancel(ctx), home)
	}
	return err
}

// besideGoal refuses a run or a goal beside the goal of a live session, and after one that an agent did not reach if
// that agent calls. The caller holds the lock, so no other goal begins meanwhile.
func (s *session) besideGoal(line []process.Ancestor) error {
	refuse, command := noGoal, "run"
	if s.plan.Session != "" {
		refuse, command = noSecondGoal, "goal"
	}
	if err := refuse(s.store); err != nil {
		return err
	}
	if err := outsideSession(s.store, s.streams.Env, line, command); err != nil {
		return err
	}
	return s.likeEnded(line)
}

func (s *session) start(ctx context.Context) error {
	err := s.plan.EnterWorktree(ctx, s.store.WorktreesDir(), s.run)
	if err != nil {
		return err
	}
	s.removeStrays(ctx, s.plan.Workspace)
	// A named worktree may have snapshots of earlier runs.
	if folder := s.store.SnapshotsOf(s.plan.Worktree); s.plan.Worktree != nil && !exists(folder) {
		s.newSnapshots = folder
	}
	s.asked = openQuestion(s.store)
	if s.refused, err = s.refusedEarlier(ctx); err != nil {
		return err
	}
	if s.origin, err = s.earlierOrigin(ctx); err != nil {
		return err
	}
	if s.origin, err = s.originInside(ctx, s.origin); err != nil {
		return err
	}
	if s.log, err = s.store.Create(s.run); err != nil {
		return err
	}
	defer s.log.Close()
	s.recordProcesses()
	if s.plan.Session != "" {
		if err := runlog.KeepEnvironment(s.store, s.run, s.streams.Env.Environ); err != nil {
			return err
		}
		return s.beginGoal(ctx)
	}
	return s.runLoop(ctx)
}

// discard removes the folder and the worktree of a run that could not start. If the log has an
// event, it keeps both.
func (s *session) discard(ctx context.Context, home workspace.Workspace) {
	err := s.store.Discard(s.run)
	if made := s.plan.Worktree; err == nil && made != nil {
		err = errors.Join(home.RemoveWorktree(ctx, *made), os.RemoveAll(s.newSnapshots))
	}
	if err != nil && !errors.Is(err, runlog.ErrBegun) {
		fmt.Fprintf(s.errLines(), "ralph: warning: %v\n", err)
	}
}

// lock locks the workspace for a run. If another run holds the lock, the error names it.
func lock(store *runlog.Store, run string) (*runlog.Lock, error) {
	held, err := store.Lock(ownerFor(run))
	if other, locked := errors.AsType[*runlog.Locked](err); locked && !other.Elsewhere {
		err = fmt.Errorf("%w; see it with ralph status, stop it with ralph stop", err)
	}
	return held, err
}

// ownerFor says that this process works on a run.
func ownerFor(run string) runlog.Owner {
	host, _ := os.Hostname()
	identity, _ := process.Identity(os.Getpid())
	return runlog.Owner{PID: os.Getpid(), Run: run, Host: host, Started: time.Now().UTC(), Identity: identity}
}

// runLoop runs the loop to its end and prints the result. The caller holds the lock.
func (s *session) runLoop(ctx context.Context) error {
	outliveReaders()
	state := &s.state
	places, err := s.places()
	if err != nil {
		return err
	}
	v := s.newView(state)
	file := &progress.View{
		Dir:   s.plan.Workspace.Dir,
		State: state,
		Warn:  func(err error) { v.Say("warning: " + err.Error()) },
	}
	if repo := s.plan.Workspace.Repo; repo != nil {
		repo.Git.Slow = v.Say
	}
	loop, err := s.plan.Loop(
		ctx,
		s.run,
		places,
		loop.WithAcceptance(s.acceptance),
		loop.WithRefusedFiles(s.refused),
		loop.WithOrigin(s.origin),
		loop.WithRunBetween(s.between),
		loop.WithState(state),
		loop.WithTornTail(s.torn),
		loop.WithRecorder(s.log),
		loop.WithInbox(s.log),
		loop.WithQuestion(s.asked.text, s.asked.steering),
		loop.WithObserver(v.See),
		loop.WithObserver(file.See),
		loop.WithObserver(s.notifyOnWait(ctx)),
		loop.WithActivity(v.Live),
		loop.WithTestAgreement(s.agreeToTests(v)),
	)
	if err != nil {
		v.Close()
		return errors.Join(err, s.plan.Walls.Close())
	}
	letSleep := s.keepAwake()
	after := ctx // without the signals that end the loop
	ctx, release := watchSignals(ctx, loop, v)
	result, err := loop.Run(ctx)
	release()
	letSleep()
	if left := errors.Join(s.plan.Walls.Close(), assembly.RemoveCaches(places)); left != nil {
		v.Say("warning: " + left.Error())
	}
	v.Close()
	if err != nil {
		return err
	}
	s.noteSurroundings(places)
	s.notifyOnStop(context.WithoutCancel(ctx), result)
	end := s.finish(ctx, state, result, s.plan.Settings.ExitMap)
	// After the result, because nobody has to wait for it. If it fails or is interrupted, only space is
	// lost: the run has ended as its result says.
	packing, release := untilSignal(after)
	defer release()
	_ = workspace.PackSnapshots(packing, places.Snapshots, s.streams.Env)
	return end
}

// keepAwake keeps the system from sleeping while agents work. It returns a function that lets it sleep again.
func (s *session) keepAwake() func() {
	if s.plan.Settings.KeepAwake == "off" || s.plan.Demo || s.acceptance != nil {
		return func() {}
	}
	return awake.Start(awake.Options{Env: s.streams.Env.Untrusted(), Skip: s.plan.Workspace.Contains})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// places creates and returns the folders for files that a run must keep outside its workspace.
func (s *session) places() (assembly.Places, error) {
	for _, name := range []string{"tasks", "proofs", "around", "given"} {
		if _, err := s.log.Keep(name); err != nil {
			return assembly.Places{}, err
		}
	}
	places := placesOf(s.store, s.run, s.plan.Worktree)
	if s.unproven != "" && s.unproven != s.run {
		places.Earlier = placesOf(s.store, s.unproven, s.plan.Worktree).Proofs
	}
	if last := s.before; last != nil && last.Run != s.run {
		places.Before = assembly.EarlierSurroundings{
			Folder:  placesOf(s.store, last.Run, s.plan.Worktree).Around,
			Working: last.Stopped == nil || last.Started.InSession,
		}
		for _, name := range acceptedFiles(s.store) {
			places.Before.Accepted = append(places.Before.Accepted, absolute(s.plan.Workspace.Dir, filepath.FromSlash(name)))
		}
	}
	if s.acceptance == nil {
		places.Rows = rowsFile(places)
		places.LastRows, places.RowsSum = s.lastRows()
	}
	return places, nil
}

// noteSurroundings records how the run leaves files outside of the tree. If that fails, what the user changes there
// before the next run counts as the agent's.
func (s *session) noteSurroundings(places assembly.Places) {
	if err := assembly.NoteSurroundings(places); err != nil && !s.globals.quiet {
		fmt.Fprintf(s.errLines(), "ralph: warning: %v\n", err)
	}
}

func rowsFile(places assembly.Places) string { return filepath.Join(places.Proofs, "rows.json") }

// lastRows returns the results of checks that the last run in this workspace kept, and their digest in its log. Only
// that run counts: after one that ended otherwise, or whose agents could reach the file, there are none.
func (s *session) lastRows() (file, digest string) {
	runs, err := s.store.Runs()
	if err != nil {
		return "", ""
	}
	for _, last := range byActivity(runs) {
		if last.Run == s.run {
			continue
		}
		state, err := stateOf(s.store, last.Run)
		if err != nil || state.Stopped == nil {
			return "", ""
		}
		return rowsFile(placesOf(s.store, last.Run, s.plan.Worktree)), state.Stopped.Rows
	}
	return "", ""
}

func placesOf(store *runlog.Store, run string, worktree *ralph.Worktree) assembly.Places {
	dir := store.RunDir(run)
	return assembly.Places{
		Snapshots: store.SnapshotsOf(worktree),
		Run:       dir,
		Views:     store.ViewsDir(),
		Tasks:     filepath.Join(dir, "tasks"),
		Proofs:    filepath.Join(dir, "proofs"),
		Around:    filepath.Join(dir, "around"),
		Given:     filepath.Join(dir, "given"),
	}
}

// notifyOnWait notifies the user when a running run, or one of its tasks, waits for an answer.
func (s *session) notifyOnWait(ctx context.Context) func(ralph.Event) {
	return func(e ralph.Event) {
		if w, ok := e.Data.(ralph.Waiting); ok && w.For == ralph.WaitAnswer {
			s.notify(ctx, ralph.Result{RunID: s.run, Status: ralph.StatusWaiting, Summary: w.Detail})
		}
		if v, ok := e.Data.(ralph.VerdictReached); ok && v.Verdict.Tasks.Question != "" && v.Verdict.Action == ralph.GoOn {
			waits := v.Verdict.Tasks.Current + " waits for an answer: " + v.Verdict.Tasks.Question
			s.notify(ctx, ralph.Result{RunID: s.run, Status: ralph.StatusActive, Summary: waits})
		}
	}
}

// notifyOnStop notifies the user when a run stopped because it needs a person.
func (s *session) notifyOnStop(ctx context.Context, result ralph.Result) {
	switch result.StopReason {
	case ralph.Blocked, ralph.NeedsDecision, ralph.Unconfirmed:
		s.notify(ctx, result)
	}
}

// notify rings the terminal bell and calls the configured notifier.
func (s *session) notify(ctx context.Context, result ralph.Result) {
	if s.streams.ErrTerm {
		fmt.Fprint(s.streams.Err, "\a")
	}
	if err := s.plan.Notify(ctx, result); err != nil {
		fmt.Fprintf(s.errLines(), "ralph: warning: %v\n", err)
	}
}

// finish prints the result of a run and turns it into a process status.
func (s *session) finish(ctx context.Context, state *fold.State, result ralph.Result, exitMap string) error {
	if s.wantsJSON() {
		if err := s.printOutcome(result); err != nil {
			return err
		}
		return s.status(result, exitMap)
	}
	if !s.globals.quiet {
		width := 0
		if s.streams.ErrTerm {
			width = s.streams.Width()
		}
		fmt.Fprint(s.streams.Err, term.Screen(state, s.style(), width)+s.weakenedTests(ctx, state))
	}
	fmt.Fprintln(s.outLines(), term.ResultLine(state))
	return s.status(result, exitMap)
}

// status returns the process status of a result. With a soft exit map, a reached limit exits with
// 0 and prints a warning.
func (s *session) status(result ralph.Result, exitMap string) error {
	if result.ExitCode == 0 {
		return nil
	}
	if exitMap == "soft" && result.Status == ralph.StatusExhausted {
		mark := "ralph: warning: "
		if s.streams.Env.GitHubActions {
			mark = "::warning::"
		}
		name, summary := ralph.NameOf(result.StopReason), term.Clean(result.Summary)
		fmt.Fprintf(s.streams.Err, "%s%s: %s (exit code %d, mapped to 0)\n", mark, name, summary, result.ExitCode)
		return nil
	}
	if s.streams.Env.GitHubActions {
		fmt.Fprintf(s.streams.Err, "::error::%s: %s\n", ralph.NameOf(result.StopReason), term.Clean(result.Summary))
	}
	return exitStatus(result.ExitCode)
}

// outliveReaders keeps this process alive if a reader of its output closes the pipe: the run
// continues and ends with its own exit code. It lasts until the process ends, because the final
// screen is written after the run. Ignoring SIGPIPE would work as well, but agents would inherit
// that.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// newView returns the view that fits the flags and the terminal.
func (s *session) newView(state *fold.State) view {
	env := s.streams.Env
	lines := term.Lines{Out: s.streams.Err, Style: s.style(), State: state, Accepting: s.acceptance != nil}
	switch {
	case s.globals.quiet:
		return quietView{}
	case s.streams.ErrTerm && !s.globals.plain && !env.CI && env.Term != "dumb":
		lines.Width = s.streams.Width
		live := term.NewLive(lines)
		live.Verbose = s.globals.verbose
		return live
	}
	return &plainView{lines: &lines, verbose: s.globals.verbose}
}

// plainView prints events as lines. Of the agent's activity it prints only that the agent retries
// its model: otherwise the silence would look like work.
type plainView struct {
	mu        sync.Mutex
	lines     *term.Lines
	lastRetry string // the last retry that was printed in this iteration
	verbose   bool   // print each message and tool call of the agent, too
}

func (p *plainView) See(e ralph.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Type == ralph.EvIterationStarted {
		p.lastRetry = ""
	}
	p.lines.See(e)
}

func (p *plainView) Live(a ralph.Activity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line := term.ActivityLine(a); p.verbose && line != "" {
		fmt.Fprintln(p.lines.Out, line)
		return
	}
	if a.Kind == "retry" && a.Detail != p.lastRetry {
		p.lastRetry = a.Detail
		fmt.Fprintf(p.lines.Out, "  the agent retries: %s\n", term.Clean(a.Detail))
	}
}

func (p *plainView) Say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.lines.Out, line)
}

func (p *plainView) Pause() {}
func (p *plainView) Close() {}

type quietView struct{}

func (quietView) See(ralph.Event)     {}
func (quietView) Live(ralph.Activity) {}
func (quietView) Say(string)          {}
func (quietView) Pause()              {}
func (quietView) Close()              {}

// removeStrays removes temporary files that a process left in the workspace when it died: they would be part of
// the tree.
func (s *session) removeStrays(ctx context.Context, space workspace.Workspace) {
	if !s.afterDeath {
		return
	}
	names, err := space.RemoveStrays(ctx)
	if len(names) > 0 && !s.globals.quiet {
		fmt.Fprintf(s.errLines(), "ralph: removed temporary files of a killed run: %s\n", term.Clean(text.List(names)))
	}
	if err != nil {
		fmt.Fprintf(s.errLines(), "ralph: warning: %v\n", err)
	}
}
