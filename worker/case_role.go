package worker

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

const (
	submitCase       = "submit_case"
	maxQuiet         = 3    // so many replies in a row without a call end the task
	maxSummaryChars  = 4000 // characters
	maxCaseTextChars = 1000 // characters of every other text in a case
	maxCoverage      = 100
	maxWorkArounds   = 5
	maxDoubts        = 20
	hintCut          = "allow longer answers in the settings of the model's server, or choose a model with a higher " +
		"output limit"
	proseWords = 8 // so many words without a path are not a pointer
)

var (
	//go:embed submit_case.md
	submitCasePage string
	//go:embed nudge.md
	nudgePage string
	//go:embed nudge_cut.md
	nudgeCutPage string
)

// caseRole is the role of a worker, which makes a case.
type caseRole struct {
	*conversation
	quiets     int      // replies without a call, in a row
	cuts       int      // how many of them were cut at the model's length limit
	quietAt    int      // the turn of the last of them
	rejections []string // what the reviewer wanted fixed
	problem    string   // what was wrong with the last malformed case
}

func (*caseRole) name() string                       { return "worker" }
func (*caseRole) system() string                     { return systemPage }
func (*caseRole) tools(o tools.Options) []tools.Tool { return tools.Set(o) }
func (*caseRole) requiredTool(int) string            { return "" }

var caseTool = sync.OnceValue(func() model.Tool { return tools.Spec(submitCase, submitCasePage, caseInput{}) })

func (*caseRole) closing() model.Tool { return caseTool() }

func (*caseRole) turnWarning(left int) string {
	switch left {
	case 1:
		return "One turn is left. If the work is done, call " + submitCase + " now."
	case 4:
		return "4 turns are left. Finish your work, and keep one for " + submitCase + "."
	}
	return ""
}

func (c *caseRole) outOfTurns() *ending {
	return &ending{class: ralph.EndOK, task: ralph.IterCap, caseProblem: c.problem}
}

func (*caseRole) noReplies() *ending {
	return &ending{class: ralph.EndOK, task: ralph.EmptyResponses}
}

// onNoCall asks for a call, up to a limit. A worker that reports that it needs a person may end
// without a call.
func (c *caseRole) onNoCall(r model.Reply) (string, *ending) {
	words := c.in.Words
	words.Prompt = ""
	if said := promise.Parse(r.Message.Text, words); said.Blocked != nil || said.Decide != nil {
		return "", &ending{class: ralph.EndOK, blocked: said.Blocked, decide: said.Decide}
	}
	if c.quietAt != c.turns-1 {
		c.quiets, c.cuts = 0, 0 // there was a call in between
	}
	c.quiets, c.quietAt = c.quiets+1, c.turns
	if r.End == model.EndLength {
		c.cuts++
	}
	switch {
	case c.quiets >= maxQuiet && c.cuts == c.quiets:
		return "", &ending{class: ralph.EndOK, task: ralph.NoCase, cut: true, hint: hintCut, caseProblem: c.problem}
	case c.quiets >= maxQuiet:
		return "", &ending{class: ralph.EndOK, task: ralph.NoCase, caseProblem: c.problem}
	case r.End == model.EndLength:
		return strings.TrimSpace(nudgeCutPage), nil
	}
	return strings.TrimSpace(nudgePage), nil
}

// close submits a case.
func (c *caseRole) close(ctx context.Context, input json.RawMessage) (tools.Output, *ending) {
	made, err := decodeCase(input)
	if err != nil {
		c.problem = err.Error()
		return tools.Failf("the case was not submitted: %v", err), nil
	}
	if c.in.Submit == nil {
		return tools.Output{Text: "cases are not judged here"}, &ending{class: ralph.EndOK}
	}
	// Without the iteration's deadline, because the agent's clock must not cut a check.
	asked := time.Now()
	answer := c.in.Submit(ctx, made)
	if !c.deadline.IsZero() {
		c.deadline = c.deadline.Add(time.Since(asked)) // this was not the worker's time
	}
	c.order.Stop = c.order.Stop || answer.Spent // by the evaluator
	output := tools.Output{Text: answer.Text, Failed: !answer.Accepted}
	switch {
	case answer.Accepted:
		return output, &ending{class: ralph.EndOK, accepted: true}
	case answer.Over && ctx.Err() != nil:
		return output, c.timeIsUp(ctx)
	case answer.Over:
		return output, &ending{class: ralph.EndOK}
	}
	if answer.Rejected {
		c.rejections = append(c.rejections, answer.Text)
	}
	return output, nil
}

// finish asks for a learning if the case was accepted, after a rejection or as the options say, and there is
// budget for another call.
func (c *caseRole) finish(ctx context.Context, end *ending) {
	asks := len(c.rejections) > 0 || c.o.LearnFromEach
	if end != nil && end.accepted && asks && !c.order.Stop && c.record.err == nil {
		end.learning = c.proposeLearning(ctx, c.rejections)
	}
}

// caseInput is a case as the model writes it.
type caseInput struct {
	Summary       string          `json:"summary" doc:"What was done, in a few sentences."`
	Coverage      []coverageInput `json:"ac_coverage" doc:"One entry for each acceptance criterion."`
	WorkArounds   []string        `json:"work_arounds,omitempty" doc:"At most 5: what is not as it should be, and why."`
	Uncertainties []string        `json:"uncertainties,omitempty" doc:"What you are not certain of."`
	Untestable    string          `json:"untestable,omitempty" doc:"Why no test can show the work, if none can."`
}

type coverageInput struct {
	Criterion   string `json:"criterion" doc:"The criterion, in its own words."`
	AddressedBy string `json:"addressed_by" doc:"Where it is met: a pointer such as path/to/file.go:Symbol."`
	Evidence    string `json:"evidence,omitempty" doc:"What shows it, such as a test."`
}

// decodeCase reads a case. The error describes one problem, for the model.
func decodeCase(input json.RawMessage) (ralph.Case, error) {
	var in caseInput
	if err := tools.Decode(input, &in); err != nil {
		return ralph.Case{}, err
	}
	if err := in.check(); err != nil {
		return ralph.Case{}, err
	}
	c := ralph.Case{
		Summary: in.Summary, WorkArounds: in.WorkArounds, Uncertainties: in.Uncertainties,
		Untestable: in.Untestable,
	}
	for _, a := range in.Coverage {
		c.Coverage = append(c.Coverage, ralph.Coverage(a))
	}
	return c, nil
}

func (in caseInput) check() error {
	if err := checkText("summary", in.Summary, maxSummaryChars); err != nil {
		return err
	}
	switch {
	case len(in.Coverage) == 0:
		return errors.New("field ac_coverage is empty; name each criterion and where it is met")
	case len(in.Coverage) > maxCoverage:
		return fmt.Errorf("field ac_coverage has %d entries, more than %d", len(in.Coverage), maxCoverage)
	}
	for i, a := range in.Coverage {
		if err := a.check(fmt.Sprintf("ac_coverage[%d].", i)); err != nil {
			return err
		}
	}
	if err := checkTexts("work_arounds", in.WorkArounds, maxWorkArounds); err != nil {
		return err
	}
	if err := checkTexts("uncertainties", in.Uncertainties, maxDoubts); err != nil || in.Untestable == "" {
		return err
	}
	return checkText("untestable", in.Untestable, maxCaseTextChars)
}

func (a coverageInput) check(path string) error {
	if err := checkText(path+"criterion", a.Criterion, maxCaseTextChars); err != nil {
		return err
	}
	if err := checkText(path+"addressed_by", a.AddressedBy, maxCaseTextChars); err != nil {
		return err
	}
	if isProse(a.AddressedBy) {
		return fmt.Errorf("field %saddressed_by is prose; it must be a pointer such as path/to/file.go:Symbol", path)
	}
	if a.Evidence != "" {
		return checkText(path+"evidence", a.Evidence, maxCaseTextChars)
	}
	return nil
}

func checkTexts(path string, items []string, most int) error {
	if len(items) > most {
		return fmt.Errorf("field %s has %d entries, more than %d", path, len(items), most)
	}
	for i, item := range items {
		if err := checkText(fmt.Sprintf("%s[%d]", path, i), item, maxCaseTextChars); err != nil {
			return err
		}
	}
	return nil
}

// checkText checks that a text is neither empty nor too long.
func checkText(path, text string, limit int) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("field %s is empty", path)
	}
	if n := utf8.RuneCountInString(text); n > limit {
		return fmt.Errorf("field %s has %d characters, more than %d", path, n, limit)
	}
	return nil
}

// isProse reports whether a pointer is a sentence that names no path.
func isProse(pointer string) bool {
	words := strings.Fields(pointer)
	points := func(word string) bool { return isPathLike(strings.Trim(word, "`'\"()[]{}<>,;:.!?*")) }
	return len(words) >= proseWords && !slices.ContainsFunc(words, points)
}

// isPathLike accepts a/b, main.go, main.go:Add and pkg::Name, but not 1.5 or "e.g.".
func isPathLike(word string) bool {
	if strings.ContainsAny(word, `/\`) || strings.Contains(word, "::") {
		return strings.Trim(word, `/\:`) != ""
	}
	stem, rest, ok := strings.Cut(word, ".")
	letter := func(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
	return ok && rest != "" && letter(rest[0]) && len(stem)+len(rest) > 2
}
