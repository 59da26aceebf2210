package worker

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/worker/tools"
)

const (
	// ReviewTurns is how many turns a reviewer has at most.
	ReviewTurns   = 16
	submitVerdict = "submit_verdict"
	answerCap     = 64 << 10 // bytes of a reviewer's last words that are kept: the end
)

var (
	//go:embed review.md
	reviewPage string
	//go:embed submit_verdict.md
	submitVerdictPage string
)

// Reviewer reads a workspace and gives a verdict. Its outcome's Answer is the input of submit_verdict, or its last words if it ended without that
// call; whoever asked it judges what that is worth. It may be used by several goroutines at once.
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
func (r reviewing) maxTurns() int                    { return r.o.MaxTurns }
func (reviewing) tools(o tools.Options) []tools.Tool { return tools.Reading(o) }
func (reviewing) closing() model.Tool                { return verdictTool }

// verdictInput describes a verdict to the model, as verify/evaluate wants it. It is read there.
type verdictInput struct {
	Nonce    string   `json:"nonce" doc:"The nonce of the instructions, as it is."`
	Verdict  string   `json:"verdict" enum:"accept,reject"`
	Category string   `json:"category,omitempty" doc:"One of the names in the instructions if you reject, an empty string if you accept."`
	Concern  string   `json:"concern,omitempty" doc:"What is wrong, in a sentence or two, if you reject."`
	Evidence []string `json:"evidence" doc:"Pointers of the form path:line at lines of files in the workspace. To accept takes at least one."`
	NextStep string   `json:"next_step,omitempty" doc:"What to do about the concern, in one sentence, if you reject."`
}

var verdictTool = model.Tool{Name: submitVerdict, Description: strings.TrimSpace(submitVerdictPage), Schema: tools.Schema(verdictInput{})}

// close takes any object for a verdict: what is wrong with it is said by whoever asked for it, and to the user as well.
func (reviewing) close(_ context.Context, input json.RawMessage) (tools.Output, *ending) {
	return tools.Output{Text: "taken"}, &ending{class: ralph.EndOK, answer: string(input)}
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

func (reviewing) finish(context.Context, *ending) {}

func (reviewing) nothing() *ending {
	return &ending{class: ralph.EndProvider, text: "the model sent nothing, three times in a row"}
}
