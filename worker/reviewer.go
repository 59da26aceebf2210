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
	// ReviewTurns is how many turns a reviewer has at most.
	ReviewTurns   = 16
	submitVerdict = "submit_verdict"
	answerCap     = 64 << 10 // bytes of a reviewer's last words that are kept: the end
	verdictCap    = 16 << 10 // bytes of a verdict
	maxMended     = 6        // verdicts that are sent back for their form
)

var (
	//go:embed review.md
	reviewPage string
	//go:embed submit_verdict.md
	submitVerdictPage string
)

// Reviewer reads a workspace and gives a verdict. Its outcome's Answer is the input of submit_verdict, or its last words if it ended without a call
// that was taken; before it stand the calls that were not, each on a line of its own, since one of them may have said no. Whoever asked it judges what
// that is worth. It may be used by several goroutines at once.
type Reviewer struct{ o Options }

var _ ralph.Agent = (*Reviewer)(nil)

// NewReviewer makes a reviewer. Nothing is started or asked for yet.
func NewReviewer(o Options) *Reviewer {
	o.MaxTurns = min(cmp.Or(o.MaxTurns, ReviewTurns), ReviewTurns)
	return &Reviewer{o}
}

// Run makes one review, as ralph.Agent says.
func (r *Reviewer) Run(ctx context.Context, in ralph.AgentInput) (ralph.AgentOutcome, error) {
	return run(ctx, r.o, in, func(t *talk) role { return &reviewing{t} })
}

// reviewing is how a reviewer leads a conversation.
type reviewing struct{ *talk }

func (reviewing) name() string                       { return "reviewer" }
func (reviewing) system() string                     { return reviewPage }
func (reviewing) tools(o tools.Options) []tools.Tool { return tools.Reading(o) }
func (reviewing) closing() model.Tool                { return verdictTool() }

// verdictInput is a verdict as the model writes it, and as verify/evaluate wants it. What only whoever asked can know is checked there: the nonce, and
// whether the lines are there.
type verdictInput struct {
	Nonce    string   `json:"nonce" doc:"The nonce of the instructions, as it is."`
	Verdict  string   `json:"verdict" enum:"accept,reject"`
	Category string   `json:"category,omitempty" enum:"scope_creep,acceptance_gap,weak_test,tests_pass_but_wrong,half_finished,spec_violation" doc:"One of these if you reject. Leave it out if you accept."`
	Concern  string   `json:"concern,omitempty" doc:"What is wrong, in a sentence or two, if you reject."`
	Evidence []string `json:"evidence" doc:"Pointers of the form path:line at lines of files in the workspace. To accept takes at least one."`
	NextStep string   `json:"next_step,omitempty" doc:"What to do about the concern, in one sentence, if you reject."`
}

var verdictTool = sync.OnceValue(func() model.Tool {
	return tools.Spec(submitVerdict, submitVerdictPage, verdictInput{})
})

// close takes a verdict that has the right form. Another one can be mended in the same conversation, until that was tried often enough.
func (r reviewing) close(_ context.Context, input json.RawMessage) (tools.Output, *ending) {
	end := &ending{class: ralph.EndOK, answer: string(input)}
	err := checkVerdict(input)
	switch {
	case err == nil:
		return tools.Output{Text: "taken"}, end
	case len(r.notTaken) < maxMended:
		end = nil
	}
	return tools.Failf("the verdict is not submitted: %v", err), end
}

var pointerForm = text.LazyRegexp(`^.+:\s*[0-9]+(-[0-9]+)?$`)

// checkVerdict says what is wrong with the form of a verdict. The error is about one problem, for the model.
func checkVerdict(input json.RawMessage) error {
	var in verdictInput
	if err := tools.Decode(input, &in); err != nil {
		return err
	}
	rejects := in.Verdict == "reject"
	switch {
	case len(input) > verdictCap:
		return fmt.Errorf("it has %d bytes, more than %d", len(input), verdictCap)
	case rejects && in.Category == "":
		return errors.New("field category is empty; whoever rejects names one of the list")
	case !rejects && in.Category != "":
		return errors.New("field category must be left out by whoever accepts")
	case !rejects && len(in.Evidence) == 0:
		return errors.New("field evidence is empty; to accept takes at least one path:line")
	case rejects && strings.TrimSpace(in.Concern) == "":
		return errors.New("field concern is empty; whoever rejects says what is wrong")
	case rejects && strings.TrimSpace(in.NextStep) == "":
		return errors.New("field next_step is empty; whoever rejects says what to do about the concern")
	}
	for i, pointer := range in.Evidence {
		if !pointerForm().MatchString(strings.TrimSpace(pointer)) {
			return fmt.Errorf("field evidence[%d] must be of the form path:line, not %q", i, promise.OneLine(pointer, shownSize))
		}
	}
	return nil
}

func (reviewing) quiet(r model.Reply) (string, *ending) {
	text := r.Message.Text
	return "", &ending{class: ralph.EndOK, answer: strings.ToValidUTF8(text[max(len(text)-answerCap, 0):], "")}
}

func (reviewing) hurry(left int) string {
	if left == 1 {
		return "One turn is left: call " + submitVerdict + " now."
	}
	return ""
}

// must makes the last turn one with a verdict, where the provider can.
func (reviewing) must(left int) string {
	if left == 0 {
		return submitVerdict
	}
	return ""
}

// usedUp is an answer without a verdict, which whoever asked can use as little as any other.
func (reviewing) usedUp() *ending { return &ending{class: ralph.EndOK} }

// finish puts what was not taken before what was: a no among it must not be lost, however the conversation ended.
func (r reviewing) finish(_ context.Context, end *ending) {
	if end != nil && len(r.notTaken) > 0 {
		end.answer = strings.TrimSpace(strings.ToValidUTF8(strings.Join(r.notTaken, "\n"), "") + "\n" + end.answer)
	}
}

func (reviewing) nothing() *ending {
	return &ending{class: ralph.EndProvider, text: "the model sent nothing, three times in a row"}
}
