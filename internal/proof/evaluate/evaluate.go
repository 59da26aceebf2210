package evaluate

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// maxTries is how often the reviewer is asked until its answer can be used.
const maxTries = 2

// Evaluator asks an agent for a verdict. It may be used by several goroutines at once if its agent
// may.
type Evaluator struct {
	// Agent is the reviewer. It should be able to read files and nothing else, and its outcome must
	// include its answer.
	Agent ralph.Agent
	Name  string // what the log calls it; default: the agent's own name
	Model string
	// IdleTimeout limits how long the reviewer may print nothing; 0 means no limit.
	IdleTimeout time.Duration
	// Random is the source of nonces and boundaries; default: crypto/rand.
	Random io.Reader
}

var _ ralph.Evaluator = (*Evaluator)(nil)

// Evaluate asks for a verdict; see ralph.Evaluator.
func (e *Evaluator) Evaluate(ctx context.Context, in ralph.EvaluationInput) (ralph.Evaluation, error) {
	if failed, ok := failedCheck(in); ok {
		return e.rejectUnasked(in, failed), nil
	}
	sum := ralph.Evaluation{Task: in.Task, Agent: e.Name, Model: e.Model}
	var prior priorAnswers
	for sum.Tries < maxTries {
		outcome, found, err := e.ask(ctx, in, sum, prior)
		if err != nil {
			return ralph.Evaluation{}, err
		}
		add(&sum, outcome)
		outcome = cutByRun(in, sum, outcome)
		found = prior.add(found)
		if outcome.End.Failed() && prior.rejection == nil {
			sum.End, sum.Error, sum.Hint, sum.RetryAfter = outcome.End, outcome.Error, outcome.Hint, outcome.RetryAfter
			sum.Problem = joinProblems(prior.problems[:len(prior.problems)-1])
			return sum, nil
		}
		sum.End = ralph.EndOK
		if found.problem == "" {
			found.fill(&sum)
			sum.Problem = joinProblems(prior.problems)
			return sum, nil
		}
		if outcome.End.Failed() {
			break
		}
		if why := overBudget(in, sum); why != "" && prior.rejection == nil {
			sum.End, sum.Error, sum.Problem = ralph.EndOverBudget, why, joinProblems(prior.problems)
			return sum, nil
		} else if why != "" {
			prior.problems[len(prior.problems)-1] += "; it was not asked again: " + why
			break
		}
		if in.Timeout > 0 && time.Duration(sum.Duration) >= in.Timeout {
			prior.problems[len(prior.problems)-1] += "; there was no time to ask again"
			break
		}
	}
	prior.reject(&sum)
	return sum, nil
}

// cutByRun distinguishes a reviewer that was cut at a limit of the run from one that reached a limit of its own.
func cutByRun(in ralph.EvaluationInput, so ralph.Evaluation, o ralph.AgentOutcome) ralph.AgentOutcome {
	if o.End == ralph.EndCut && in.Over != nil {
		if why := in.Over(so); why != "" {
			o.End, o.Error = ralph.EndOverBudget, why
		}
	}
	return o
}

// overBudget returns why the reviewer may not be asked once more, or "" if it may or has already
// been asked maxTries times.
func overBudget(in ralph.EvaluationInput, so ralph.Evaluation) string {
	if in.Over == nil || so.Tries == maxTries {
		return ""
	}
	return in.Over(so)
}

// failedCheck returns the name of a check that did not pass.
func failedCheck(in ralph.EvaluationInput) (name string, ok bool) {
	for _, c := range in.Checks {
		if !c.Passed {
			return checkName(c), true
		}
	}
	return "", false
}

// rejectUnasked rejects what a check has already rejected.
func (e *Evaluator) rejectUnasked(in ralph.EvaluationInput, red string) ralph.Evaluation {
	return ralph.Evaluation{
		Task: in.Task, Agent: e.Name, Model: e.Model, End: ralph.EndOK,
		Category: ralph.RejectedHalf,
		Concern:  "a check did not pass, so the reviewer was not asked: " + promise.OneLine(red, nameLimit),
		NextStep: "make the check pass",
	}
}

// ask runs the reviewer once and reads its answer. If the reviewer could not finish, only a
// rejection counts.
func (e *Evaluator) ask(
	ctx context.Context, in ralph.EvaluationInput, so ralph.Evaluation, before priorAnswers,
) (ralph.AgentOutcome, finding, error) {
	secret, err := e.drawSecret(in, before)
	if err != nil {
		return ralph.AgentOutcome{}, finding{}, err
	}
	folder, err := tryFolder(in.Folder, so.Tries)
	if err != nil {
		return ralph.AgentOutcome{}, finding{}, err
	}
	timeout := in.Timeout
	if timeout > 0 {
		timeout = max(timeout-time.Duration(so.Duration), time.Second)
	}
	outcome, err := e.Agent.Run(ctx, ralph.AgentInput{
		Iteration: in.Iteration,
		Prompt:    buildPrompt(in, secret, before),
		Dir:       in.Dir,
		Folder:    folder,
		Model:     e.Model,
		Marker:    in.Marker,
		Timeout:   timeout, IdleTimeout: e.IdleTimeout, Live: in.Live,
		Budget: in.Budget.Left(so.Spending()),
	})
	if err != nil {
		return ralph.AgentOutcome{}, finding{}, fmt.Errorf("ask evaluator: %w", err)
	}
	if outcome.End.Failed() || outcome.End == ralph.EndCut {
		return outcome, partialFinding(outcome, secret.nonce, in.Dir), nil
	}
	found, err := read(outcome.Answer, secret.nonce, in.Dir)
	return outcome, found, err
}

// tryFolder returns where one try leaves its prompt and output. Files of the first try are kept.
func tryFolder(folder string, tries int) (string, error) {
	if folder == "" || tries == 0 {
		return folder, nil
	}
	again := filepath.Join(folder, fmt.Sprintf("try-%d", tries+1))
	if err := os.Mkdir(again, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make evaluator folder: %w: %w", ralph.ErrIO, err)
	}
	return again, nil
}

// add sums the cost of all tries. Unknown figures stay unknown and do not hide known ones, which
// are then marked partial.
func add(sum *ralph.Evaluation, o ralph.AgentOutcome) {
	again := sum.Tries > 0
	sum.CostPartial = sum.CostPartial || o.CostPartial || again && (sum.Cost == nil) != (o.Cost == nil)
	sum.TokensPartial = sum.TokensPartial || o.TokensPartial || again && (sum.Tokens == nil) != (o.Tokens == nil)
	sum.Tries++
	sum.Agent, sum.Model = cmp.Or(sum.Agent, o.Agent), cmp.Or(o.Model, sum.Model)
	sum.Duration += o.Duration
	sum.CostEstimated = sum.CostEstimated || o.CostEstimated
	if o.Cost != nil {
		cost := *o.Cost
		if sum.Cost != nil {
			cost += *sum.Cost
		}
		sum.Cost = &cost
	}
	if o.Tokens != nil {
		t := *o.Tokens
		if sum.Tokens != nil {
			t = t.Plus(*sum.Tokens)
		}
		sum.Tokens = &t
	}
}

// secret holds the random words of one call.
type secret struct{ boundary, nonce string }

// drawSecret draws words that occur nowhere in what the reviewer is shown, nor in each other.
func (e *Evaluator) drawSecret(in ralph.EvaluationInput, before priorAnswers) (secret, error) {
	shown := buildPrompt(in, secret{}, before)
	boundary, err := e.randomWord(shown)
	if err != nil {
		return secret{}, err
	}
	nonce, err := e.randomWord(shown + boundary)
	return secret{boundary, nonce}, err
}

func (e *Evaluator) randomWord(not string) (string, error) {
	source := e.Random
	if source == nil {
		source = rand.Reader
	}
	for {
		var random [16]byte
		if _, err := io.ReadFull(source, random[:]); err != nil {
			return "", fmt.Errorf("draw random word: %w", err)
		}
		if word := hex.EncodeToString(random[:]); !strings.Contains(strings.ToLower(not), word) {
			return word, nil
		}
	}
}
