package ralph

import (
	"context"

	"github.com/ralphloop/ralph/prompt"
)

// PromptInput is what a Prompter gets to know.
type PromptInput struct {
	Ordinal  int // iteration i
	Of       int // of N, 0 for no cap
	Template string
	Goal     string
	SpecFile string
	Checks   []string
	Policy   Policy
	Diagnose string   // why this iteration is for diagnosis only
	Last     Feedback // of the iteration before
}

// StandardPrompt builds the prompt of package prompt.
type StandardPrompt struct{}

// Prompt implements Prompter.
func (StandardPrompt) Prompt(_ context.Context, in PromptInput) (Prompt, error) {
	parts := prompt.Build(in.facts())
	built := Prompt{Text: prompt.Join(parts)}
	for _, p := range parts {
		built.Parts = append(built.Parts, PromptPart{p.Name, len(p.Text), p.Truncated, p.Hash()})
	}
	return built, nil
}

func (in PromptInput) facts() prompt.Input {
	facts := prompt.Input{
		Ordinal: in.Ordinal, Of: in.Of, Template: in.Template, Goal: in.Goal, SpecFile: in.SpecFile,
		Tags: in.Policy.CompletionTags, Checks: in.Checks, Diagnose: in.Diagnose,
		StatusRequired: in.Policy.Status == StatusRequired,
		LastError:      in.Last.Error, GreenNoClaim: in.Last.GreenNoClaim, Recommendation: in.Last.Recommendation,
		StatusProblem: in.Last.StatusProblem, Mismatches: in.Last.Mismatches, Mentions: in.Last.Mentions,
	}
	for _, c := range in.Last.Failed {
		facts.Failed = append(facts.Failed, prompt.Failure{Name: c.Name, How: howFailed(c), Output: c.Output})
	}
	for _, r := range in.Last.Refusals {
		facts.Refusals = append(facts.Refusals, prompt.Refusal{Code: r.Code, Detail: r.Detail})
	}
	return facts
}
