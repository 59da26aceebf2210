package loop

import (
	"context"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/judge"
)

// diffShown is how much of a patch a prompt could take, in bytes.
const diffShown = 24_000

// promptInput gathers everything that a prompt may say.
func (l *Loop) promptInput(ctx context.Context, started ralph.IterationStarted) ralph.PromptInput {
	in := ralph.PromptInput{
		Ordinal: started.Ordinal, Of: started.Of, Template: l.goals.goal.template, Goal: l.goals.goal.text, SpecFile: l.run.cfg.SpecFile,
		Checks: l.run.cfg.Checks, Policy: l.run.policy, Last: l.run.state.Last,
		Dir: l.run.cfg.Dir, WhoCommits: l.run.cfg.WhoCommits, Steering: l.inbox.steering, Progress: l.run.state.ProgressTail(),
		Answers: l.run.state.Answers, OpenQuestion: l.inbox.asked, Ledger: l.run.state.Ledger, Learnings: l.goals.learnings(ctx),
	}
	_, in.ByCase = l.agents.agents[min(started.Agent, len(l.agents.agents)-1)].Agent.(ralph.CaseMaker)
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
		kept, _ := l.run.state.Stashed(l.run.state.History.Task)
		in.NotBack = kept.NotBack
	}
	in.Diff, in.DiffCut = l.tree.diff(ctx)
	return in
}

// StandardPrompt builds the prompt of package prompt.
type StandardPrompt struct{}

// Prompt implements Prompter.
func (StandardPrompt) Prompt(_ context.Context, in ralph.PromptInput) (ralph.Prompt, error) {
	parts := prompt.Build(promptFacts(in))
	built := ralph.Prompt{Text: prompt.Join(parts)}
	for _, p := range parts {
		built.Parts = append(built.Parts, ralph.PromptPart{Name: p.Name, Bytes: len(p.Text), Truncated: p.Truncated, Hash: p.Hash()})
	}
	return built, nil
}

func promptFacts(in ralph.PromptInput) prompt.Input {
	facts := prompt.Input{
		Ordinal: in.Ordinal, Of: in.Of, Template: in.Template, Goal: in.Goal, SpecFile: in.SpecFile,
		Tags: in.Policy.CompletionTags, Checks: in.Checks, Diagnose: in.Diagnose,
		StatusRequired: in.Policy.Status == ralph.StatusRequired, ByCase: in.ByCase,
		LastError: in.Last.Error, GreenNoClaim: in.Last.GreenNoClaim, Recommendation: in.Last.Recommendation,
		StatusProblem: in.Last.StatusProblem, Mismatches: in.Last.Mismatches, Mentions: in.Last.Mentions,
	}
	addPlan(in, &facts)
	addMemory(in, &facts)
	addEvidence(in, &facts)
	for _, c := range in.Last.Failed {
		if c.Hidden {
			facts.HiddenFailed = true
			continue
		}
		how := judge.HowFailed(c)
		if in.Last.Number == 0 { // the baseline
			how += ", before any agent started"
		}
		facts.Failed = append(facts.Failed, prompt.Failure{Name: fold.CheckOwner(c) + c.Name, How: how, Output: c.Output})
	}
	for _, r := range in.Last.Refusals {
		facts.Refusals = append(facts.Refusals, prompt.Refusal{Code: r.Code, Detail: r.Detail})
	}
	return facts
}

// addPlan tells about the task list.
func addPlan(in ralph.PromptInput, facts *prompt.Input) {
	facts.ListFile, facts.Commits, facts.ProjectRoot = in.ListFile, in.WhoCommits, in.Dir
	facts.ListProblems, facts.Proven = in.Last.ListProblems, in.Last.Proven
	if t := in.Task; t != nil {
		facts.Task = &prompt.Task{
			ID: t.ID, Title: t.Title, Description: t.Description, Category: t.Category, Acceptance: t.Acceptance, Checks: t.Checks,
			SpecFile: t.SpecFile, Try: in.Try, NotBack: in.NotBack,
		}
	}
	for _, t := range in.Tasks {
		own := in.Task != nil && t.ID == in.Task.ID
		if own {
			facts.Task.Regressed = t.Regressed
		}
		facts.Plan = append(facts.Plan, prompt.PlanLine{
			ID: t.ID, Title: t.Title, Status: string(t.Status), Own: own, Optional: t.Optional, Human: t.Human, Regressed: t.Regressed,
		})
	}
	facts.TasksAllDone = len(in.Tasks) > 0 && len(judge.OpenTasks(in.Tasks)) == 0
	for _, r := range in.Last.TaskRefusals {
		facts.TaskRefusals = append(facts.TaskRefusals, prompt.TaskRefusal{Task: r.Task, Code: r.Code, Detail: r.Detail})
	}
}

// addEvidence tells what became of protected files, and what evaluators said.
func addEvidence(in ralph.PromptInput, facts *prompt.Input) {
	facts.Tampered, facts.Unseen = in.Last.Tampered, in.Last.Unseen
	for _, e := range in.Last.Rejections {
		rejected := prompt.Rejection{Task: e.Task, Category: string(e.Category), Concern: e.Concern, NextStep: e.NextStep, Evidence: e.Evidence, Standing: e.Standing}
		for _, known := range in.Ledger {
			if known.Task == e.Task {
				rejected.Times = known.Counts[e.Category]
			}
		}
		facts.Rejections = append(facts.Rejections, rejected)
	}
}

// addMemory tells what people wrote and what was done so far.
func addMemory(in ralph.PromptInput, facts *prompt.Input) {
	for _, item := range in.Steering {
		facts.Steering = append(facts.Steering, item.Text)
		facts.SteeringFile = item.File
	}
	facts.Diff, facts.DiffCut, facts.Progress, facts.Learnings = in.Diff, in.DiffCut, in.Progress, in.Learnings
	for _, a := range in.Answers {
		facts.Answers = append(facts.Answers, prompt.Answer{Question: a.Question, Answer: a.Answer})
	}
	facts.OpenQuestion = in.OpenQuestion
}
