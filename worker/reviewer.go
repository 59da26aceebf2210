package worker

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

const (
	// ReviewTurns is the maximum number of turns of a reviewer.
	ReviewTurns          = 16
	submitVerdict        = "submit_verdict"
	maxAnswerBytes       = 64 << 10 // bytes kept of a reviewer's last message, from its end
	maxVerdictBytes      = 16 << 10 // bytes of a verdict
	maxMalformedVerdicts = 6        // verdicts sent back because of their form
)

var (
	//go:embed review.md
	reviewPage string
	//go:embed submit_verdict.md
	submitVerdictPage string
)

// Reviewer reads a workspace and gives a verdict. Its outcome's Answer is the input of
// submit_verdict, or its last message if no call was accepted. Refused calls come first, each on
// its own line, because one of them may have been a rejection. The caller judges what the answer is
// worth. Several goroutines may use a Reviewer at once.
type Reviewer struct{ o Options }

var _ ralph.Agent = (*Reviewer)(nil)

// NewReviewer returns a reviewer. It starts nothing yet.
func NewReviewer(o Options) *Reviewer {
	o.MaxTurns = min(cmp.Or(o.MaxTurns, ReviewTurns), ReviewTurns)
	return &Reviewer{o}
}

// Run makes one review. It implements ralph.Agent.
func (r *Reviewer) Run(ctx context.Context, in ralph.AgentInput) (ralph.AgentOutcome, error) {
	return run(ctx, r.o, in, func(t *conversation) role { return &reviewRole{t} })
}

// reviewRole is the role of a reviewer, which gives a verdict.
type reviewRole struct{ *conversation }

func (reviewRole) name() string                       { return "reviewer" }
func (reviewRole) system() string                     { return reviewPage }
func (reviewRole) tools(o tools.Options) []tools.Tool { return tools.Reading(o) }
func (reviewRole) closing() model.Tool                { return verdictTool() }

// verdictInput is a verdict as the model writes it and as internal/proof/evaluate expects it, which
// checks what only it can know: the nonce, and whether the lines exist.
type verdictInput struct {
	Nonce    string   `json:"nonce" doc:"The nonce from the instructions, unchanged."`
	Verdict  string   `json:"verdict" enum:"accept,reject"`
	Category string   `json:"category,omitempty" enum:"scope_creep,acceptance_gap,weak_test,tests_pass_but_wrong,half_finished,spec_violation" doc:"One of these if you reject. Leave it out if you accept."` //nolint:lll // a struct tag cannot be split
	Concern  string   `json:"concern,omitempty" doc:"What is wrong, in a sentence or two, if you reject."`
	Evidence []string `json:"evidence" doc:"Pointers path:line to files in the workspace. Accepting needs at least one."`
	NextStep string   `json:"next_step,omitempty" doc:"What to do about the concern, in one sentence, if you reject."`
}

var verdictTool = sync.OnceValue(func() model.Tool {
	return tools.Spec(submitVerdict, submitVerdictPage, verdictInput{})
})

// close accepts a verdict of the right form. The model can fix another one in the same
// conversation, up to a limit.
func (r reviewRole) close(_ context.Context, input json.RawMessage) (tools.Output, *ending) {
	end := &ending{class: ralph.EndOK, answer: string(input)}
	err := checkVerdict(input)
	switch {
	case err == nil:
		return tools.Output{Text: "taken"}, end
	case len(r.refusedInputs) < maxMalformedVerdicts:
		end = nil
	}
	return tools.Failf("the verdict was not submitted: %v", err), end
}

var pointerForm = text.LazyRegexp(`^.+:\s*[0-9]+(-[0-9]+)?$`)

// checkVerdict checks the form of a verdict. The error describes one problem, for the model.
func checkVerdict(input json.RawMessage) error {
	var in verdictInput
	if err := tools.Decode(input, &in); err != nil {
		return err
	}
	rejects := in.Verdict == "reject"
	switch {
	case len(input) > maxVerdictBytes:
		return fmt.Errorf("it has %d bytes, more than %d", len(input), maxVerdictBytes)
	case rejects && in.Category == "":
		return errors.New("field category is empty; a rejection must name one of the categories")
	case !rejects && in.Category != "":
		return errors.New("field category must be left out of an acceptance")
	case !rejects && len(in.Evidence) == 0:
		return errors.New("field evidence is empty; an acceptance needs at least one path:line")
	case rejects && strings.TrimSpace(in.Concern) == "":
		return errors.New("field concern is empty; a rejection must say what is wrong")
	case rejects && strings.TrimSpace(in.NextStep) == "":
		return errors.New("field next_step is empty; a rejection must say what to do about the concern")
	}
	for i, pointer := range in.Evidence {
		if !pointerForm().MatchString(strings.TrimSpace(pointer)) {
			return fmt.Errorf("field evidence[%d] must be of the form path:line, not %q", i, promise.OneLine(pointer, shownSize))
		}
	}
	return nil
}

func (reviewRole) onNoCall(r model.Reply) (string, *ending) {
	text := r.Message.Text
	return "", &ending{class: ralph.EndOK, answer: strings.ToValidUTF8(text[max(len(text)-maxAnswerBytes, 0):], "")}
}

func (reviewRole) turnWarning(left int) string {
	if left == 1 {
		return "One turn is left: call " + submitVerdict + " now."
	}
	return ""
}

// requiredTool forces a verdict in the last turn, if the provider supports it.
func (reviewRole) requiredTool(left int) string {
	if left == 0 {
		return submitVerdict
	}
	return ""
}

// outOfTurns returns an answer without a verdict, which is useless to the caller.
func (reviewRole) outOfTurns() *ending { return &ending{class: ralph.EndOK} }

// finish puts refused verdicts before the answer, so that a rejection among them is not lost,
// however the conversation ended.
func (r reviewRole) finish(_ context.Context, end *ending) {
	if end != nil && len(r.refusedInputs) > 0 {
		end.answer = strings.TrimSpace(strings.ToValidUTF8(strings.Join(r.refusedInputs, "\n"), "") + "\n" + end.answer)
	}
}

func (reviewRole) noReplies() *ending {
	return &ending{class: ralph.EndProvider, text: "the model sent an empty reply three times in a row"}
}
