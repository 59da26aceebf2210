package loop

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/judge"
)

// taskList is the list that a run works through, if any.
type taskList struct {
	*journal
	tasks           ralph.Tasks // nil without a list
	plan            agentPlan
	unwritten       error  // why the list was not written last time
	lastListWarning string // the last warning about an unreadable list
}

// haveOwnChecks reports whether any task has its own check.
func (k *taskList) haveOwnChecks() bool {
	return k.tasks != nil && slices.ContainsFunc(k.tasks.List(), func(t ralph.Task) bool { return len(t.Checks) > 0 })
}

// adoptFirst adopts the list of a new run, or of a run that died before it recorded its list.
func (k *taskList) adoptFirst() error {
	if k.tasks == nil || len(k.state.History.Tasks) > 0 {
		return nil
	}
	// The differences are the agent's, and judge looks at them.
	if k.state.Phase == fold.PhaseExited && k.state.Stopped == nil {
		if _, err := k.tasks.Inspect(); err == nil {
			return nil
		}
	}
	if err := k.tasks.Adopt(nil); err != nil {
		return fmt.Errorf("read task list: %w", err)
	}
	return nil
}

// openTasks adopts the list when a process begins or resumes a run. After a crash in the middle of
// an iteration, differences from the harness's copy are the agent's and are reverted. Otherwise
// they are the user's.
func (k *taskList) openTasks() error {
	if k.tasks == nil {
		return nil
	}
	if k.crashed && k.state.Phase == fold.PhaseExited {
		if _, err := k.tasks.Inspect(); err == nil { // judge looks at it
			return nil
		}
	}
	if len(k.state.History.Tasks) == 0 { // adoptFirst adopted it
		k.recordSelected()
		return nil
	}
	if k.crashed && k.state.History.Now.Agent.End == ralph.EndInterrupted {
		edits, _ := k.tasks.Inspect()
		k.restore(edits.ListDamage)
	}
	k.selectTask()
	// Neither a copy nor the file is readable, so no task's own checks are known.
	if len(k.tasks.List()) == 0 {
		return fmt.Errorf("read task list: %s", k.lastListWarning)
	}
	return nil
}

// selectTask adopts the user's changes to the list, selects the next task and records it.
func (k *taskList) selectTask() {
	if k.tasks == nil {
		return
	}
	k.adopt()
	k.recordSelected()
}

// adoptChanges adopts the user's changes to the list, and records them if there are any.
func (k *taskList) adoptChanges() {
	if k.tasks == nil {
		return
	}
	if k.adopt(); !slices.EqualFunc(k.mergedTasks(), k.state.History.Tasks, sameTask) {
		k.recordSelected()
	}
}

// adopt reads the list. A list that cannot be read leaves the previous one.
func (k *taskList) adopt() {
	warning := ""
	k.unwritten = k.tasks.Adopt(k.statuses())
	if k.unwritten != nil {
		warning = fmt.Sprintf("%v; continuing with the previous list", k.unwritten)
	}
	if warning != "" && warning != k.lastListWarning { // the list is read before every iteration
		k.warn("tasks_unreadable", "%s", warning)
	}
	k.lastListWarning = warning
}

func (k *taskList) recordSelected() {
	list := k.mergedTasks()
	next, _ := judge.NextTask(list)
	selected := ralph.TaskSelected{Task: next.ID, Title: next.Title, Try: next.Tries + 1}
	if !slices.EqualFunc(list, k.state.History.Tasks, sameTask) {
		selected.List = list
	}
	if next.ID == "" {
		selected.Try = 0
	}
	k.emit(ralph.EvTaskSelected, selected)
}

// mergedTasks returns the current list, with what the run knows about its tasks.
func (k *taskList) mergedTasks() []ralph.TaskState {
	known := map[string]ralph.TaskState{}
	for _, t := range k.state.History.Tasks {
		known[t.ID] = t
	}
	var merged []ralph.TaskState
	for _, t := range k.tasks.List() {
		state := ralph.TaskState{
			ID:        t.ID,
			Title:     t.Title,
			DependsOn: t.DependsOn,
			Priority:  t.Priority,
			Optional:  t.Optional,
			Human:     t.Human,
			Proof:     t.Proof,
			Status:    t.Status,
		}
		before, ok := known[t.ID]
		if ok && before.Status == ralph.TaskUnconfirmed && t.Status == ralph.TaskPending {
			state.Status = ralph.TaskUnconfirmed
		}
		if ok && before.Status == state.Status {
			state.Regressed, state.Tries, state.Rounds = before.Regressed, before.Tries, before.Rounds
			state.Proven, state.Question = before.Proven, before.Question
		}
		if !ok && t.Status == ralph.TaskFailed { // by an earlier run: this one tries again
			state.Status = ralph.TaskPending
		}
		merged = append(merged, state)
	}
	return merged
}

func sameTask(a, b ralph.TaskState) bool {
	samePriority := a.Priority == b.Priority || a.Priority != nil && b.Priority != nil && *a.Priority == *b.Priority
	sameDependencies := slices.Equal(a.DependsOn, b.DependsOn)
	a.Priority, a.DependsOn, b.Priority, b.DependsOn = nil, nil, nil, nil
	return samePriority && sameDependencies && a.ID == b.ID && a.Title == b.Title &&
		a.Optional == b.Optional && a.Human == b.Human && a.Proof == b.Proof && a.Proven == b.Proven &&
		a.Status == b.Status && a.Regressed == b.Regressed && a.Tries == b.Tries && a.Rounds == b.Rounds &&
		a.Question == b.Question
}

// statuses returns the task statuses that the run has recorded.
func (k *taskList) statuses() map[string]ralph.TaskStatus {
	statuses := map[string]ralph.TaskStatus{}
	for _, t := range k.state.History.Tasks {
		statuses[t.ID] = t.Status
		if t.Status == ralph.TaskUnconfirmed { // a word of the log, not of task files
			statuses[t.ID] = ralph.TaskPending
		}
	}
	return statuses
}

// inspectTasks reads how the agent changed the list. Tasks that it marked done are claims; damage
// is reverted. Both are recorded first.
func (k *taskList) inspectTasks() {
	edits, ok := k.edits()
	if !ok {
		return
	}
	for _, id := range edits.Claims {
		k.emit(ralph.EvSignal, ralph.SignalSeen{Kind: id + ":DONE", From: ralph.FromList})
	}
	k.restore(edits.ListDamage)
	// Tasks that the agent added are work, too: the run is not complete without them.
	if added := k.unrecordedTasks(); len(added) > 0 {
		k.notice("tasks_added", "the agent added to the list: "+strings.Join(added, ", "))
		k.emit(ralph.EvTaskSelected, ralph.TaskSelected{Task: k.state.History.Task, List: k.mergedTasks()})
	}
}

// edits reads how the list was changed, if there is one.
func (k *taskList) edits() (ralph.TaskEdits, bool) {
	if k.tasks == nil {
		return ralph.TaskEdits{}, false
	}
	edits, err := k.tasks.Inspect()
	if err != nil {
		k.warn("tasks_unreadable", "%s", err.Error())
	}
	return edits, err == nil
}

// restore records the damage to the list, then writes the list as the run knows it.
func (k *taskList) restore(damage []string) {
	if len(damage) > 0 {
		k.emit(ralph.EvTampered, ralph.FilesTampered{
			What:     ralph.TamperedList,
			File:     k.tasks.File(),
			Details:  damage,
			Restored: true,
		})
	}
	k.sync()
	k.writeTasks()
}

// undoHooks restores the list after hooks ran: they may run the agent's code, so what they tick off is neither the
// user's edit nor a claim. Tasks that they add stay, as those of an agent do.
func (k *taskList) undoHooks() {
	edits, ok := k.edits()
	if !ok {
		return
	}
	damage := edits.ListDamage
	for _, id := range edits.Claims {
		damage = append(damage, fmt.Sprintf("%s was marked done while hooks ran", id))
	}
	k.restore(damage)
}

// takeOver adopts the list as it is, if its changes are the user's own.
func (k *taskList) takeOver(files []string) {
	if k.tasks == nil || !slices.Contains(files, path.Clean(k.tasks.File())) {
		return
	}
	if err := k.tasks.Adopt(k.statuses()); err != nil {
		k.warn("tasks_unreadable", "%v; continuing with the previous list", err)
		return
	}
	k.emit(ralph.EvTaskSelected, ralph.TaskSelected{Task: k.state.History.Task, List: k.mergedTasks()})
}

// unrecordedTasks returns the tasks of the list that the log does not know: an agent added them,
// possibly in an iteration that a crash cut short.
func (k *taskList) unrecordedTasks() []string {
	known := k.statuses()
	var ids []string
	for _, t := range k.tasks.List() {
		if _, told := known[t.ID]; !told {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// writeTasks updates the file to what the run knows.
func (k *taskList) writeTasks() { k.writeStates(k.statuses()) }

func (k *taskList) writeStates(states map[string]ralph.TaskStatus) {
	if k.unwritten = k.tasks.Write(states); k.unwritten != nil {
		k.warn("tasks_unwritable", "cannot update %s: %v", k.tasks.File(), k.unwritten)
	}
}

// settle writes a list that could not be written before. A run is not complete while the user's list
// says something else. The next process of the run writes it.
func (k *taskList) settle(v ralph.Verdict) ralph.Verdict {
	if k.tasks == nil || k.unwritten == nil || ralph.ExitCode(v.Reason, v.Signal) != 0 {
		return v
	}
	if k.unwritten = k.tasks.Write(k.statuses()); k.unwritten == nil {
		return v
	}
	return judge.Abort(k.state.History.Breaker, ralph.IOFailed,
		"every task is proven done, but %s cannot be updated: %v; make it writable, then run ralph resume", k.tasks.File(),
		k.unwritten)
}

// ownFile returns a function that reports whether a file is not part of the work: files of the
// harness, which stay as they are when work is stashed, and the list, which is updated separately.
func (k *taskList) ownFile() func(name string) bool {
	files := map[string]bool{}
	if k.tasks != nil {
		files[path.Clean(k.tasks.File())] = true
		for _, t := range k.tasks.List() {
			if t.SpecFile != "" {
				files[path.Clean(t.SpecFile)] = true
			}
		}
	}
	return func(name string) bool {
		top, _, _ := strings.Cut(name, "/")
		return files[name] || slices.Contains(ownFolders, top)
	}
}

// ownFolders hold files of the harness and the user: lists, steering, prompts, configuration.
var ownFolders = []string{".ralph", ".agent"}
