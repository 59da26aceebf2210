package loop

import (
	"context"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/judge"
)

// StandardPrompt builds the standard prompt.
type StandardPrompt struct{}

// Prompt implements ralph.Prompter.
func (StandardPrompt) Prompt(_ context.Context, in ralph.PromptInput) (ralph.Prompt, error) {
	return prompt.Build(in), nil
}

// maxDiffBytes limits how much of a patch goes into a prompt, in bytes.
const maxDiffBytes = 24_000

// promptInput gathers everything that a prompt may contain.
func (l *Loop) promptInput(ctx context.Context, started ralph.IterationStarted) ralph.PromptInput {
	in := ralph.PromptInput{
		Ordinal:      started.Ordinal,
		Of:           started.Of,
		Template:     l.goals.goal.template,
		Goal:         l.goals.goal.text,
		SpecFile:     l.run.cfg.SpecFile,
		GoalFile:     l.goals.goal.file,
		TemplateFile: l.goals.goal.templateFile,
		Checks:       l.run.cfg.Checks,
		Policy:       l.run.policy,
		Last:         l.run.state.Last,
		Dir:          l.run.cfg.Dir,
		WhoCommits:   l.run.cfg.WhoCommits,
		Steering:     l.inbox.steering,
		Progress:     l.run.state.ProgressTail(),
		Answers:      l.run.state.Answers,
		OpenQuestion: l.inbox.asked,
		Ledger:       l.run.state.Ledger,
		Learnings:    l.goals.learnings(ctx),
	}
	agent := l.agents.agents[min(started.Agent, len(l.agents.agents)-1)].Agent
	_, in.ByCase = agent.(ralph.Submitter)
	in.ByTools = l.agents.callsTools(agent)
	if l.list.tasks != nil {
		in.ListFile, in.Tasks = l.list.tasks.File(), l.run.state.History.Tasks
		for _, t := range l.list.tasks.List() {
			if t.ID == l.run.state.History.Task {
				in.Task = &t
			}
		}
		if current, ok := judge.FindTask(in.Tasks, l.run.state.History.Task); ok {
			in.Try = current.Tries + 1
		}
		kept, _ := l.run.state.StashOf(l.run.state.History.Task)
		in.RestoreFailure = kept.RestoreFailure
	}
	in.NeedsNewTest = judge.NeedsNewTest(l.run.policy, l.run.state.History, l.run.state.History.Task)
	if given := l.run.state.Tests; given != nil && !given.Hidden {
		in.GivenTests = given.Names()
	}
	in.Diff, in.DiffCut = l.tree.diff(ctx)
	return in
}
