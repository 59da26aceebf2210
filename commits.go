package ralph

import "context"

// CommitCheck is what a commit that fails is called among the checks.
const CommitCheck = "git commit"

// commits is how a loop commits; the zero value does not.
type commits struct {
	by      Committer
	when    CommitRule
	message func(CommitFacts) string
}

// CommitFacts is what a commit message can tell.
type CommitFacts struct {
	Run       string
	Iteration int
	Goal      string
	Task      string   // the one that was worked on
	Title     string   // of it
	Done      []string // tasks that this commit proves
	Complete  bool     // the run is complete with it
	Checks    []CheckResult
}

// commit commits the iteration's work before it is judged, so that a hook or a signature that fails can refuse the claim like any check. The
// list is written first as the verdict would leave it: what is proven is in the commit.
func (l *Loop) commit(ctx context.Context) {
	now := l.state.History.Now
	if l.commits.by == nil || l.commits.when == CommitOff || l.storage != nil || ctx.Err() != nil || !counts(now.Agent.End) {
		return
	}
	likely := Decide(l.policy, l.state.History.Judge(l.moment(ctx)))
	complete := Completed(likely)
	if l.commits.when == CommitTask && len(likely.Tasks.Done) == 0 && !complete {
		return
	}
	if l.tasks != nil && len(likely.Tasks.Done) > 0 {
		states := l.statuses()
		for _, id := range likely.Tasks.Done {
			states[id] = TaskDone
		}
		l.writeStates(states)
	}
	worked, _ := findTask(l.state.History.Tasks, now.Task)
	facts := CommitFacts{
		Run: l.id, Iteration: l.iteration, Goal: l.goal.text, Task: now.Task, Title: worked.Title, Done: likely.Tasks.Done, Complete: complete,
		Checks: visible(now.Checks),
	}
	made, err := l.commits.by.Commit(ctx, l.commits.message(facts))
	if err != nil {
		made = CommitResult{Failed: true, Output: err.Error()}
	}
	switch {
	case ctx.Err() != nil:
	case made.Failed:
		l.emit(EvCheckFinished, CheckResult{Name: CommitCheck, Output: made.Output, ExitCode: 1})
	case made.Commit != "":
		l.emit(EvCommit, made)
		l.snapshot(ctx, TreeInput{BaseHead: l.state.History.Base.Head, Claimed: true})
		if made.Changed && len(now.Checks)+len(now.Evaluations) > 0 {
			l.compare(ctx, l.state.History.Now.Tree)
			l.gather(ctx, MayComplete(l.policy, l.state.History))
		}
	}
}
