package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/judge"
)

// testsPlace stands in a check for the test files of the current and all done tasks.
const testsPlace = "{tests}"

// haveOwnChecks reports whether a task brings a check of its own.
func (l *Loop) haveOwnChecks() bool {
	return l.tasks != nil && slices.ContainsFunc(l.tasks.List(), func(t ralph.Task) bool { return len(t.Checks) > 0 })
}

// openTasks takes the list over when a process begins or resumes a run. After a crash in the middle of an iteration, what differs from the
// harness's copy is the agent's doing and is put back; otherwise it is the user's.
func (l *Loop) openTasks() error {
	if l.tasks == nil {
		return nil
	}
	if l.crashed && l.state.Phase == fold.PhaseExited {
		if _, err := l.tasks.Inspect(); err == nil { // judge looks at it
			return nil
		}
	}
	if len(l.state.History.Tasks) == 0 { // a new run, or one that died before it could tell its list
		if err := l.tasks.Adopt(nil); err != nil {
			return fmt.Errorf("read task list: %w", err)
		}
		l.tellSelected()
		return nil
	}
	if l.crashed && l.state.History.Now.Agent.End == ralph.EndInterrupted {
		if edits, err := l.tasks.Inspect(); err == nil && len(edits.Injuries) > 0 {
			l.emit(ralph.EvTampered, ralph.FilesTampered{What: ralph.TamperedList, File: l.tasks.File(), Details: edits.Injuries, Restored: true})
		}
		l.writeTasks()
	}
	l.selectTask()
	if len(l.tasks.List()) == 0 { // neither a copy nor the file can be read: no task's own checks are known
		return fmt.Errorf("read task list: %s", l.unread)
	}
	return nil
}

// selectTask takes over what the user changed in the list, chooses the next task and tells it.
func (l *Loop) selectTask() {
	if l.tasks == nil {
		return
	}
	unread := ""
	if err := l.tasks.Adopt(l.statuses()); err != nil {
		unread = fmt.Sprintf("%v; going on with the list as it was", err)
	}
	if unread != "" && unread != l.unread { // it is asked for again before every iteration
		l.emit(ralph.EvWarning, ralph.Notice{Code: "tasks_unreadable", Text: unread})
	}
	l.unread = unread
	l.tellSelected()
}

func (l *Loop) tellSelected() {
	list := l.mergedTasks()
	next, _ := judge.NextTask(list)
	selected := ralph.TaskSelected{Task: next.ID, Title: next.Title, Try: next.Tries + 1}
	if !slices.EqualFunc(list, l.state.History.Tasks, sameTask) {
		selected.List = list
	}
	if next.ID == "" {
		selected.Try = 0
	}
	l.emit(ralph.EvTaskSelected, selected)
}

// mergedTasks is the list in force with what the run knows about its tasks.
func (l *Loop) mergedTasks() []ralph.TaskState {
	known := map[string]ralph.TaskState{}
	for _, t := range l.state.History.Tasks {
		known[t.ID] = t
	}
	var merged []ralph.TaskState
	for _, t := range l.tasks.List() {
		state := ralph.TaskState{
			ID: t.ID, Title: t.Title, DependsOn: t.DependsOn, Priority: t.Priority, Optional: t.Optional, Human: t.Human, Status: t.Status,
		}
		before, ok := known[t.ID]
		if ok && before.Status == t.Status {
			state.Regressed, state.Tries, state.Rounds = before.Regressed, before.Tries, before.Rounds
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
	return samePriority && sameDependencies && a.ID == b.ID && a.Title == b.Title && a.Optional == b.Optional && a.Human == b.Human &&
		a.Status == b.Status && a.Regressed == b.Regressed && a.Tries == b.Tries && a.Rounds == b.Rounds
}

// statuses are the states that the run has recorded.
func (l *Loop) statuses() map[string]ralph.TaskStatus {
	statuses := map[string]ralph.TaskStatus{}
	for _, t := range l.state.History.Tasks {
		statuses[t.ID] = t.Status
	}
	return statuses
}

// inspectTasks reads what the agent did to the list: what it marked is claimed, what it injured is put back. Both are recorded first.
func (l *Loop) inspectTasks() {
	if l.tasks == nil {
		return
	}
	edits, err := l.tasks.Inspect()
	if err != nil {
		l.emit(ralph.EvWarning, ralph.Notice{Code: "tasks_unreadable", Text: err.Error()})
		return
	}
	for _, id := range edits.Claims {
		l.emit(ralph.EvSignal, ralph.SignalSeen{Kind: id + ":DONE", From: ralph.FromList})
	}
	if len(edits.Injuries) > 0 {
		l.emit(ralph.EvTampered, ralph.FilesTampered{What: ralph.TamperedList, File: l.tasks.File(), Details: edits.Injuries, Restored: true})
	}
	l.sync()
	l.writeTasks()
	if added := l.untold(); len(added) > 0 { // what it found is work, too: the run is not complete without it
		l.emit(ralph.EvNotice, ralph.Notice{Code: "tasks_added", Text: "the agent added to the list: " + strings.Join(added, ", ")})
		l.emit(ralph.EvTaskSelected, ralph.TaskSelected{Task: l.state.History.Task, List: l.mergedTasks()})
	}
}

// untold are the tasks of the list that the log does not know: an agent added them, in an iteration that a crash may have cut.
func (l *Loop) untold() []string {
	known := l.statuses()
	var ids []string
	for _, t := range l.tasks.List() {
		if _, told := known[t.ID]; !told {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// writeTasks brings the file in line with what the run knows.
func (l *Loop) writeTasks() { l.writeStates(l.statuses()) }

func (l *Loop) writeStates(states map[string]ralph.TaskStatus) {
	if err := l.tasks.Write(states); err != nil {
		l.emit(ralph.EvWarning, ralph.Notice{Code: "tasks_unwritable", Text: fmt.Sprintf("%s could not be brought up to date: %v", l.tasks.File(), err)})
	}
}

// tellTasks records what a verdict did to the tasks and writes it into the list.
func (l *Loop) tellTasks(ctx context.Context, v ralph.Verdict) {
	if l.tasks == nil {
		return
	}
	left := l.state.History.Tree.Snapshot
	tell := func(kind ralph.EventType, id, detail string) {
		t, _ := judge.FindTask(l.state.History.Tasks, id)
		l.emit(kind, ralph.TaskMoved{Task: id, Title: t.Title, Detail: detail})
	}
	for _, id := range v.Tasks.Done {
		tell(ralph.EvTaskDone, id, "claimed, and every check is green")
	}
	if id := v.Tasks.GivenUp; id != "" {
		tell(ralph.EvTaskFailed, id, judge.WhyGivenUp(l.policy, v.Tasks, l.state.History.Now))
	}
	for _, id := range v.Tasks.Reopened {
		tell(ralph.EvTaskReopened, id, "its own check is red again")
	}
	for _, id := range v.Tasks.Regressed {
		l.emit(ralph.EvWarning, ralph.Notice{Code: "task_regressed", Text: fmt.Sprintf("%s was done, and its own check is red again", id)})
	}
	l.sync()
	l.writeTasks()
	moved := len(v.Tasks.Done)+len(v.Tasks.Reopened) > 0 || v.Tasks.GivenUp != ""
	if ctx.Err() == nil && moved { // the file changed by the harness's hand: no progress of the next iteration
		l.snapshot(ctx, ralph.TreeInput{BaseHead: l.state.History.Base.Head})
		if v.Action != ralph.Stop {
			l.makeWay(ctx, left)
		}
	}
}

// baselineChecks are what is run before any agent: the run's checks and the own checks of the first task. If every task is done already, those
// of all of them.
func (l *Loop) baselineChecks() []check {
	if l.tasks == nil {
		return l.runsChecks(nil)
	}
	if len(judge.OpenTasks(l.state.History.Tasks)) == 0 {
		return l.checksToRun(true)
	}
	current := l.state.History.Task
	return append(l.runsChecks(append(l.doneTasks(), current)), l.ownChecks([]string{current})...)
}

// selectedBaseline runs the own checks of a task that is worked for the first time, so that "already green" is known.
func (l *Loop) selectedBaseline(ctx context.Context) {
	if l.tasks == nil || !l.policy.Baseline {
		return
	}
	var fresh []check
	for _, c := range l.ownChecks([]string{l.state.History.Task}) {
		if !slices.ContainsFunc(l.state.History.Baseline, func(r ralph.CheckResult) bool { return r.Task == c.task && r.Name == c.name }) {
			fresh = append(fresh, c)
		}
	}
	if len(fresh) > 0 {
		l.snapshot(ctx, ralph.TreeInput{BaseHead: l.state.History.Base.Head}) // what the user did until now is not for checks to answer for
		l.runChecks(ctx, fresh)
	}
}

// checksToRun are the run's checks and the current task's own. A claim is also measured by the own checks of what it names and of every done
// task, and a claim that would end the run by the whole suite.
func (l *Loop) checksToRun(claimed bool) []check {
	h := l.state.History
	if l.tasks == nil {
		return l.runsChecks(nil)
	}
	done := l.doneTasks()
	if !claimed {
		return append(l.runsChecks(append(done, h.Now.Task)), l.ownChecks([]string{h.Now.Task})...)
	}
	proven := append(done, judge.ClaimedTasks(l.policy, h)...) // if the checks agree; what regressed may be mended
	left := slices.DeleteFunc(judge.OpenTasks(h.Tasks), func(id string) bool { return slices.Contains(proven, id) })
	all := append(proven, h.Now.Task)
	if len(left) > 0 {
		return append(l.runsChecks(all), l.ownChecks(all)...)
	}
	return append(l.wholeSuite(all), l.ownChecks(all)...)
}

func (l *Loop) doneTasks() []string {
	var done []string
	for _, t := range l.state.History.Tasks {
		if t.Status == ralph.TaskDone {
			done = append(done, t.ID)
		}
	}
	return done
}

// ownChecks are the checks that these tasks bring, each task once, in the list's order.
func (l *Loop) ownChecks(ids []string) []check {
	var checks []check
	for _, t := range l.tasks.List() {
		if !slices.Contains(ids, t.ID) {
			continue
		}
		for _, command := range t.Checks {
			checks = append(checks, check{task: t.ID, name: command})
		}
	}
	return checks
}

// runsChecks are the run's own checks, with the test files of these tasks where {tests} stands.
func (l *Loop) runsChecks(ids []string) []check {
	return l.filled(func(tests ralph.TaskTests) ([]string, error) { return tests.Tests(ids) })
}

// wholeSuite are the run's checks as exit 0 wants them: with every test file but those of tasks that are left undone.
func (l *Loop) wholeSuite(done []string) []check {
	var undone []string
	for _, t := range l.state.History.Tasks {
		if !slices.Contains(done, t.ID) {
			undone = append(undone, t.ID)
		}
	}
	return l.filled(func(tests ralph.TaskTests) ([]string, error) { return tests.Suite(undone) })
}

func (l *Loop) filled(find func(ralph.TaskTests) ([]string, error)) []check {
	var checks []check
	for _, name := range l.cfg.Checks {
		if !strings.Contains(name, testsPlace) {
			checks = append(checks, check{name: name})
			continue
		}
		files, err := l.testFiles(find)
		switch {
		case err != nil:
			checks = append(checks, check{name: name, barred: err.Error()})
		case len(files) == 0 && l.lostTests(name): // deleted tests are no proof
			checks = append(checks, check{name: name, gone: "the test files that this check ran before are gone"})
		case len(files) == 0:
			l.emit(ralph.EvNotice, ralph.Notice{Code: "check_skipped", Text: name + " was skipped: no test file belongs to a task that is done or under way"})
		default:
			checks = append(checks, check{name: name, command: strings.ReplaceAll(name, testsPlace, process.Words(operands(files)))})
		}
	}
	return checks
}

// lostTests reports whether a check that had test files before finds none at all any more, of whatever task.
func (l *Loop) lostTests(name string) bool {
	_, ran := l.state.History.Checks[judge.CheckKey(ralph.CheckResult{Name: name})]
	any, err := l.testFiles(func(tests ralph.TaskTests) ([]string, error) { return tests.Suite(nil) })
	return ran && err == nil && len(any) == 0
}

func (l *Loop) testFiles(find func(ralph.TaskTests) ([]string, error)) ([]string, error) {
	tests, ok := l.tasks.(ralph.TaskTests)
	if !ok {
		return nil, nil
	}
	return find(tests)
}

// operands keeps a file from being read as an option: an agent may have named it.
func operands(files []string) []string {
	named := slices.Clone(files)
	for i, file := range named {
		if strings.HasPrefix(file, "-") {
			named[i] = "./" + file
		}
	}
	return named
}
