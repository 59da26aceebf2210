package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/runlog"
)

// diffCommand is `ralph diff`.
type diffCommand struct {
	*app
	task string // show only the work on this task
	stat bool
}

func newDiffCommand(a *app) *cobra.Command {
	c := &diffCommand{app: a}
	cmd := &cobra.Command{
		Use:     "diff [RUN] [ITER]",
		Short:   "Show what a run or an iteration changed",
		GroupID: "look",
		Long: `Show what a run changed, from the files before it to the last ones it left. With
an iteration's number, show what that iteration changed. With --task, show the
work on one task in all its iterations, even if it is stashed. Untracked files
are included, ignored files are not. Files that an earlier run refused are
compared with their versions before that run.`,
		Example: `  ralph diff            # the newest run
  ralph diff 3          # its third iteration
  ralph diff 01K9 3
  ralph diff --task T-2 # one task of the list`,
		Args: atMostTwo,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	cmd.Flags().StringVar(&c.task, "task", "", "show the work on task `ID`")
	cmd.Flags().BoolVar(&c.stat, "stat", false, "show only how many lines of each file changed")
	return cmd
}

// restoreCommand is `ralph restore`.
type restoreCommand struct {
	*app
	to  string // a folder to write to instead of the workspace
	git bool
}

func newRestoreCommand(a *app) *cobra.Command {
	c := &restoreCommand{app: a}
	cmd := &cobra.Command{
		Use:         "restore [RUN] ITER",
		Short:       "Restore the files as they were after an iteration",
		GroupID:     "work",
		Annotations: outside,
		Long: `Restore the workspace's files as they were after an iteration of a run; 0 means
before the run. Files that git ignores are not restored. With --git, also
restore branches and HEAD, even after rm -rf .git. Ralph keeps the files it
replaces: ralph restore undo restores them.`,
		Example: `  ralph restore 3          # the newest run, after iteration 3
  ralph restore 01K9 0 --git
  ralph restore 01K9 3 --to /tmp/third
  ralph restore undo`,
		Args: atMostTwo,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	cmd.Flags().StringVar(&c.to, "to", "", "write the files to the new or empty folder `DIR` instead")
	cmd.Flags().BoolVar(&c.git, "git", false, "also restore branches, tags and HEAD")
	return cmd
}

// runSnapshots are the snapshots of a run by iteration. Iteration 0 is the state before the run.
type runSnapshots struct {
	run    string
	folder string
	state  *fold.State
	ids    map[int]string
	before map[int]string // the snapshot that each iteration started from
	base   string         // the files before the run, with those that an earlier run refused as they were before that
	last   int
}

// findSnapshots finds the snapshot that each iteration left. It leaves out what the user changed
// while no agent was running.
func (a *app) findSnapshots(ctx context.Context, name string) (runSnapshots, error) {
	found, err := a.findRun(ctx, name)
	if err != nil {
		return runSnapshots{}, err
	}
	store, run := found.store, found.id
	k := runSnapshots{run: run, state: &fold.State{}, ids: map[int]string{}, before: map[int]string{}}
	newest := ""
	// The last iteration that started, that has a verdict, and after which the run waited or stopped.
	begun, judged, rested := 0, 0, 0
	err = store.Read(run, func(e ralph.Event, _ []byte) error {
		switch data := e.Data.(type) {
		case ralph.TreeState:
			if data.Snapshot == "" {
				break
			}
			// Any other tree holds changes of the user between two iterations.
			if rested < e.Iteration && begun == e.Iteration || e.Iteration == 0 {
				if k.ids[e.Iteration] == "" {
					k.before[e.Iteration] = newest
				}
				k.ids[e.Iteration], k.last = data.Snapshot, max(k.last, e.Iteration)
			}
			if e.Iteration == 0 {
				k.base = cmp.Or(data.Base, data.Snapshot)
			}
			newest = data.Snapshot
		case ralph.IterationStarted:
			begun = e.Iteration
		case ralph.VerdictReached:
			judged = e.Iteration
		case ralph.Waiting, ralph.RunStopped, ralph.RunResumed, ralph.WorkStashed:
			rested = judged // from here on, the tree is not what the iteration left
		}
		return k.state.Apply(e)
	})
	k.folder = store.SnapshotsOf(k.state.Started.Worktree)
	if err != nil {
		return k, err
	}
	// Without git, Ralph takes snapshots only to compare trees. They cannot be restored.
	_, missing := os.Stat(k.folder)
	if len(k.ids) == 0 || missing != nil && k.state.History.Base.Head == "" {
		return k, usage("run %s has no snapshots (no git repository, or an older Ralph)", run)
	}
	return k, nil
}

func (k runSnapshots) at(iteration int) (string, error) {
	if id := k.ids[iteration]; id != "" {
		return id, nil
	}
	choice := fmt.Sprintf("choose one from 0 to %d", k.last)
	if k.last == 0 {
		choice = "the only one is 0, of the files before the run"
	}
	return "", usage("run %s has no snapshot of iteration %d; %s", k.run, iteration, choice)
}

// diffRange returns the snapshots before and after an iteration, a task or, without either, the
// whole run.
func (k runSnapshots) diffRange(iteration int, task string) (from, to string, err error) {
	switch {
	case task != "" && iteration >= 0:
		return "", "", usage("choose an iteration or a task, not both")
	case task != "":
		return k.taskRange(task)
	case iteration >= 0:
		to, err = k.at(iteration)
		return k.before[iteration], to, err
	}
	if refused := k.state.Started.Refused; refused != nil && len(refused.Files) > 0 {
		return k.base, k.ids[k.last], nil
	}
	return k.ids[0], k.ids[k.last], nil // also if the user has accepted what an earlier run refused
}

// taskRange returns the snapshots before and after the work on a task: its stashed work, or else
// its iterations, which must be consecutive.
func (k runSnapshots) taskRange(task string) (from, to string, err error) {
	var first, last, count int
	for _, it := range k.state.Iterations {
		if it.Task == task {
			first, last = cmp.Or(first, it.Iteration), it.Iteration
			count++
		}
	}
	stashed := slices.IndexFunc(k.state.Stashed, func(w fold.StashedWork) bool { return w.Task == task })
	switch {
	case stashed >= 0:
		return k.state.Stashed[stashed].Base, k.state.Stashed[stashed].Work, nil
	case count == 0:
		return "", "", usage("run %s did not work on task %q", k.run, task)
	case last-first+1 != count:
		return "", "", usage("other tasks were worked on between iterations %d and %d of run %s, "+
			"which worked on %s; choose one iteration, as in: ralph diff %s %d", first, last, k.run, task, k.run, last)
	}
	to, err = k.at(last)
	return k.before[first], to, err
}

func (c *diffCommand) run(ctx context.Context, args []string) error {
	run, iteration, err := runAndIteration(args)
	if err != nil {
		return err
	}
	k, err := c.findSnapshots(ctx, run)
	if err != nil {
		return err
	}
	from, to, err := k.diffRange(iteration, c.task)
	if err != nil {
		return err
	}
	patch, cut := "", false
	if from != to && from != "" {
		if patch, cut, err = workspace.SnapshotDiff(ctx, k.folder, from, to, c.streams.Env); err != nil {
			return err
		}
	}
	if c.wantsJSON() {
		return c.printJSON(map[string]any{"run_id": k.run, "from": from, "to": to, "patch": patch, "truncated": cut})
	}
	if patch == "" && !c.globals.quiet {
		fmt.Fprintln(c.streams.Err, "no files changed")
	}
	if c.streams.OutTerm { // text from an agent must not control the terminal
		patch = strings.Join(text.Mapped(strings.Split(patch, "\n"), term.Printable), "\n")
	}
	style := c.styleOn(c.streams.OutTerm)
	if c.stat {
		fmt.Fprint(c.streams.Out, diffStat(patch, style))
	} else {
		fmt.Fprint(c.streams.Out, colorPatch(patch, style))
	}
	if cut {
		fmt.Fprintln(c.streams.Err, "ralph: warning: the patch is too long to show all of it")
	}
	return nil
}

// runAndIteration parses [RUN] [ITER]. A number alone is an iteration of the newest run. Without a
// number, the iteration is -1.
func runAndIteration(args []string) (run string, iteration int, err error) {
	switch len(args) {
	case 0:
		return "", -1, nil
	case 1:
		if n, err := iterationNumber(args[0]); err == nil && args[0] == strconv.Itoa(n) { // a run's id starts with 0
			return "", n, nil
		}
		return args[0], -1, nil
	}
	iteration, err = iterationNumber(args[1])
	return args[0], iteration, err
}

func iterationNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || len(text) > 9 {
		return 0, usage("%q is not an iteration; use a number, 0 for the files before the run", text)
	}
	return n, nil
}

func (c *restoreCommand) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return usage("which iteration? ralph restore [RUN] ITER, 0 for the files before the run")
	}
	_, store, err := c.open(ctx)
	if err != nil {
		return err
	}
	if c.to == "" {
		held, err := lock(store, "restore")
		if err != nil {
			return err
		}
		defer held.Release()
	} else {
		c.to = absolute(c.streams.Dir, c.to)
	}
	var target restoreRecord
	if args[0] == "undo" {
		target, err = lastRestore(store, args[1:])
	} else {
		target, err = c.findTarget(ctx, args)
	}
	if err == nil && c.to == "" {
		err = target.checkWorktree()
	}
	if err != nil {
		return err
	}
	undo := restoreRecord{
		At:       time.Now().UTC(),
		Folder:   target.Folder,
		Git:      c.git || target.Git,
		Of:       target.Of,
		Worktree: target.Worktree,
	}
	done, err := workspace.Restore(ctx, target.Folder, workspace.RestoreInput{
		Snapshot: target.Snapshot,
		To:       c.to,
		Git:      undo.Git,
		Begin: func(before string) error {
			undo.Snapshot = before
			return undo.save(store)
		},
	}, c.streams.Env)
	if err != nil {
		return err
	}
	return c.print(target, done)
}

// restoreRecord is one line of the list of restores. It holds what is needed to undo one.
type restoreRecord struct {
	At       time.Time `json:"at"`
	Of       string    `json:"of"` // what was restored, in words
	Folder   string    `json:"folder"`
	Snapshot string    `json:"snapshot"`
	Git      bool      `json:"git"`
	Worktree string    `json:"worktree,omitempty"` // the run's worktree, if it had one
}

// checkWorktree refuses to restore into a worktree that was removed: a new folder there would not
// be a worktree.
func (r restoreRecord) checkWorktree() error {
	if r.Worktree == "" {
		return nil
	}
	if _, err := os.Stat(r.Worktree); err != nil {
		return usage("the run's worktree %s is gone; write the files elsewhere with --to DIR", r.Worktree)
	}
	return nil
}

func (c *restoreCommand) findTarget(ctx context.Context, args []string) (restoreRecord, error) {
	run, n, err := runAndIteration(args)
	if err == nil && n < 0 {
		err = usage("which iteration of run %s? ralph restore %s ITER, 0 for the files before the run", run, run)
	}
	if err != nil {
		return restoreRecord{}, err
	}
	k, err := c.findSnapshots(ctx, run)
	if err != nil {
		return restoreRecord{}, err
	}
	id, err := k.at(n)
	what := fmt.Sprintf("the files after iteration %d of run %s", n, k.run)
	if n == 0 {
		what = "the files from before run " + k.run
	}
	r := restoreRecord{Of: what, Folder: k.folder, Snapshot: id}
	if w := k.state.Started.Worktree; w != nil {
		r.Worktree = w.Path
	}
	return r, err
}

func restoresPath(store *runlog.Store) string { return filepath.Join(store.Dir(), "restores.jsonl") }

func (r restoreRecord) save(store *runlog.Store) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("record restore: %w", err)
	}
	file, err := os.OpenFile(restoresPath(store), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, err = file.Write(append(line, '\n'))
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err != nil {
		return fmt.Errorf("record restore: %w", err)
	}
	return nil
}

// lastRestore returns the record of the files before the newest restore.
func lastRestore(store *runlog.Store, more []string) (restoreRecord, error) {
	if len(more) > 0 {
		return restoreRecord{}, usage("ralph restore undo takes no other arguments")
	}
	file, err := os.Open(restoresPath(store))
	if errors.Is(err, fs.ErrNotExist) {
		return restoreRecord{}, usage("nothing to undo: nothing was restored in this workspace")
	}
	if err != nil {
		return restoreRecord{}, fmt.Errorf("read restores: %w", err)
	}
	defer file.Close()
	var last restoreRecord
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var r restoreRecord
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			last = r
		}
	}
	last.Of = "the files from before the last restore"
	return last, nil
}

func (c *restoreCommand) print(target restoreRecord, done workspace.Restored) error {
	if c.wantsJSON() {
		return c.printJSON(map[string]any{
			"restored": target.Of,
			"to":       c.to,
			"written":  done.Written,
			"deleted":  done.Deleted,
			"refs":     done.Refs,
			"undo":     done.Undo,
			"notes":    listed(done.Notes),
		})
	}
	where := "the workspace"
	if to := cmp.Or(c.to, target.Worktree); to != "" {
		where = term.Clean(to)
	}
	refs := ""
	if done.Refs > 0 {
		refs = fmt.Sprintf(", %s set", term.Count(done.Refs, "ref"))
	}
	written := term.Count(done.Written, "file")
	fmt.Fprintf(c.streams.Out, "restored %s to %s: %s written, %d deleted%s\n",
		target.Of, where, written, done.Deleted, refs)
	for _, note := range done.Notes {
		fmt.Fprintf(c.streams.Out, "note: %s\n", strings.TrimSuffix(term.Clean(note), "."))
	}
	if done.Undo != "" {
		fmt.Fprintln(c.streams.Out, "ignored files were not restored; undo with: ralph restore undo")
	}
	return nil
}
