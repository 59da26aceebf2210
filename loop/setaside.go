package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// ownFolders hold what is the harness's and the user's: lists, steering, prompts, configuration.
var ownFolders = []string{".ralph", ".agent"}

// own tells the files that stay as they are when work is set aside: those of the harness, and the list, which is brought in line by itself.
func (l *Loop) own() func(name string) bool {
	files := map[string]bool{path.Clean(l.tasks.File()): true}
	for _, t := range l.tasks.List() {
		if t.SpecFile != "" {
			files[path.Clean(t.SpecFile)] = true
		}
	}
	return func(name string) bool {
		top, _, _ := strings.Cut(name, "/")
		return files[name] || slices.Contains(ownFolders, top)
	}
}

// makeWay sets the work on a task that was given up aside as soon as it is clear that another one comes next. left is the copy of the tree as its
// iteration left it.
func (l *Loop) makeWay(ctx context.Context, left string) {
	next, ok := judge.NextTask(l.state.History.Tasks)
	if !ok || !l.inTheWay(next.ID) {
		return
	}
	if aside, ok := l.toSetAside(ctx, left); ok {
		l.setAside(ctx, aside)
	}
}

// arrange sees to it that the tree holds the work on the selected task, and none on another that was given up.
func (l *Loop) arrange(ctx context.Context) {
	if l.tasks == nil {
		return
	}
	task := l.state.History.Task
	delete(l.traceless, task)
	if l.inTheWay(task) {
		if aside, ok := l.toSetAside(ctx, l.state.Unproven.Work); ok {
			l.snapshot(ctx, ralph.TreeInput{BaseHead: l.state.History.Base.Head})
			l.setAside(ctx, aside)
		}
	}
	if kept, ok := l.state.Stashed(task); ok && kept.NotBack == "" {
		l.snapshot(ctx, ralph.TreeInput{BaseHead: l.state.History.Base.Head})
		l.bringBack(ctx, kept)
	}
}

// inTheWay reports whether the tree holds work on a task that was given up while another one is to be worked. A run that halts leaves it there for
// whoever looks at it.
func (l *Loop) inTheWay(next string) bool {
	left := l.state.Unproven
	return left != nil && left.Task != next && judge.StashesFailedTasks(l.policy)
}

// toSetAside says what is to be set aside, and warns if that cannot be.
func (l *Loop) toSetAside(ctx context.Context, work string) (ralph.WorkSetAside, bool) {
	left := l.state.Unproven
	aside := ralph.WorkSetAside{Task: left.Task, Iteration: left.Iteration, Base: cmp.Or(l.state.History.Settled, l.state.History.Base.Snapshot), Work: work}
	_, can := l.tree.(ralph.Switcher)
	if !can || aside.Base == "" || aside.Work == "" {
		l.tellOnce(workLeft, "the work on a task that was given up stays in the tree: no copies are kept here that it could come back from")
		return aside, false
	}
	others := slices.DeleteFunc(l.state.OtherUnsettled(left.Task), func(id string) bool { return l.traceless[id] })
	if len(others) > 0 {
		l.tellLeft(left.Task, "work on "+text.List(others)+", which is not done, lies there with it")
		return aside, false
	}
	changed, err := l.changedBetween(ctx, aside.Base, aside.Work)
	if err != nil && ctx.Err() == nil {
		l.tellLeft(aside.Task, err.Error())
	}
	l.traceless[left.Task] = err == nil && len(changed) == 0
	return aside, err == nil && len(changed) > 0
}

// Codes of warnings about work that was given up: it is in the tree, or it is not.
const (
	workLeft    = "work_left"
	workNotBack = "work_not_back"
)

func (l *Loop) tellLeft(task, why string) {
	l.tellOnce(workLeft, fmt.Sprintf("the work on %s, which was given up, stays in the tree: %s", task, why))
}

// changedBetween lists the files that differ between two copies, but for those of the harness.
func (l *Loop) changedBetween(ctx context.Context, from, to string) ([]string, error) {
	names, err := l.differing(ctx, from, to)
	return slices.DeleteFunc(names, l.own()), err
}

func (l *Loop) differing(ctx context.Context, from, to string) ([]string, error) {
	copies, ok := l.tree.(ralph.Copies)
	if !ok {
		return nil, errors.New("copies cannot be compared here")
	}
	changes, err := copies.Changes(ctx, from, to)
	var names []string
	for _, c := range changes {
		names = append(names, c.Name)
	}
	return names, err
}

// setAside takes work out of the tree, which was looked at just now. What somebody changed since the agent ended would be lost with it: then the work
// stays.
func (l *Loop) setAside(ctx context.Context, aside ralph.WorkSetAside) {
	meanwhile, err := l.changedBetween(ctx, aside.Work, l.state.History.Tree.Snapshot)
	switch {
	case ctx.Err() != nil || l.storage != nil:
	case err != nil:
		l.tellLeft(aside.Task, err.Error())
	case len(meanwhile) > 0:
		l.tellLeft(aside.Task, changedSince(meanwhile)+" since its agent ended")
	default:
		l.emit(ralph.EvWorkSetAside, aside)
		l.sync()
		l.move(ctx)
	}
}

// bringBack puts the work on a task into the tree again, merged with what was done since. The tree was looked at just now.
func (l *Loop) bringBack(ctx context.Context, kept fold.AsideWork) {
	tree, can := l.tree.(ralph.Switcher)
	ours := l.state.History.Tree.Snapshot
	if !can || ours == "" {
		l.tellNotBack(kept, "no copy of the tree can be made", nil)
		return
	}
	merged, conflicts, err := tree.Merge(ctx, ralph.MergeInput{Base: kept.Base, Ours: ours, Theirs: kept.Work, Own: l.own()})
	switch {
	case ctx.Err() != nil || l.storage != nil:
	case err != nil:
		l.tellNotBack(kept, err.Error(), nil)
	case len(conflicts) > 0:
		l.tellNotBack(kept, changedSince(conflicts)+" in another way since", conflicts)
	default:
		l.emit(ralph.EvWorkBroughtBack, ralph.WorkBroughtBack{Task: kept.Task, Iteration: kept.Iteration, From: ours, To: merged})
		l.sync()
		l.move(ctx)
	}
}

func (l *Loop) tellNotBack(kept fold.AsideWork, why string, conflicts []string) {
	l.emit(ralph.EvWorkBroughtBack, ralph.WorkBroughtBack{Task: kept.Task, Iteration: kept.Iteration, Why: why, Conflicts: conflicts})
	l.emit(ralph.EvWarning, ralph.Notice{Code: workNotBack, Text: fmt.Sprintf("the work on %s was not brought back: %s; ralph diff %s --task %s shows it, ralph restore %s %d --to DIR writes it out",
		kept.Task, why, l.id, kept.Task, l.id, kept.Iteration)})
}

// changedSince says that files were changed, and names the first of them.
func changedSince(names []string) string {
	if len(names) == 1 {
		return names[0] + " was changed"
	}
	return text.List(names) + " were changed"
}

// move does what was recorded last. A process that dies on the way leaves it to the next, which finds it in the state.
func (l *Loop) move(ctx context.Context) {
	m := l.state.Move
	tree, can := l.tree.(ralph.Switcher)
	if m == nil || !can || l.tasks == nil || l.storage != nil {
		return
	}
	done, err := tree.Switch(ctx, ralph.SwitchInput{From: m.From, To: m.To, Own: l.own()})
	if ctx.Err() != nil {
		return
	}
	switch kept, _ := l.state.Stashed(m.Task); {
	case err != nil && m.Back:
		l.tellNotBack(kept, err.Error(), nil)
	case err != nil:
		l.tellLeft(m.Task, err.Error())
	case len(done.Others) > 0:
		done.Copy = l.notMoved(*m, done)
	case len(done.Stayed) > 0 && m.Back:
		l.emit(ralph.EvWarning, ralph.Notice{Code: workNotBack, Text: fmt.Sprintf("of the work on %s not brought back, for what is in its place: %s; ralph restore %s %d --to DIR writes it out",
			m.Task, text.List(done.Stayed), l.id, kept.Iteration)})
	case len(done.Stayed) > 0:
		l.tellLeft(m.Task, "of it "+text.List(done.Stayed))
	}
	// It is the harness's doing: no progress of the next iteration, and no part of the base.
	if now, ok := l.look(ctx, ralph.TreeInput{BaseHead: l.state.History.Base.Head}); ok {
		l.emit(ralph.EvTreeSnapshot, l.joined(ctx, done.Copy, now))
		l.compare(ctx, now)
	}
}

// notMoved says that somebody was faster, and names the copy from which only what he did differs. After a switch that was cut there is none: what
// the harness wrote before is no user's.
func (l *Loop) notMoved(m fold.TreeMove, done ralph.Switched) string {
	kept, _ := l.state.Stashed(m.Task)
	why := changedSince(done.Others)
	switch {
	case m.Back && done.Begun:
		l.tellNotBack(kept, why+" meanwhile, when only a part of it was in the tree", done.Others)
	case m.Back:
		l.tellNotBack(kept, why+" meanwhile", done.Others)
	case done.Begun:
		l.tellLeft(m.Task, "a part of it, since "+why+" meanwhile")
	default:
		l.emit(ralph.EvWorkBroughtBack, ralph.WorkBroughtBack{Task: m.Task, Iteration: kept.Iteration, Stayed: true})
		l.tellLeft(m.Task, why+" since its agent ended")
	}
	if done.Begun {
		l.tellOnce("base_unknown", "what you changed counts as the agent's: it cannot be told from work that was being moved")
		return ""
	}
	return l.state.History.Tree.Snapshot
}
