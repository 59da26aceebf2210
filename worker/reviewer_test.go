package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/verify/evaluate"
)

func reviews(t *testing.T, client model.Client, in ralph.AgentInput) ralph.AgentOutcome {
	t.Helper()
	in.Turn, in.Submit = nil, nil // as verify/evaluate leaves them
	got, err := NewReviewer(Options{Client: client}).Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAReviewEndsWithAVerdict(t *testing.T) {
	verdict := `{"nonce":"n","verdict":"accept","category":"","concern":"","evidence":["a.go:1"],"next_step":""}`
	for _, c := range []struct {
		name   string
		steps  []step
		end    ralph.EndClass
		answer string
		turns  int
	}{
		{"with the tool", []step{calls("glob", `{"pattern":"*"}`), calls(submitVerdict, verdict)}, ralph.EndOK, verdict, 2},
		{"with words", []step{says("I looked.\n" + verdict)}, ralph.EndOK, "I looked.\n" + verdict, 1},
		{"with a call that is no JSON, then one that is", []step{calls(submitVerdict, `{"nonce`), calls(submitVerdict, verdict)}, ralph.EndOK, verdict, 2},
		{"with the first of two", []step{calls(submitVerdict, verdict, submitVerdict, `{}`)}, ralph.EndOK, verdict, 1},
		{"never", []step{calls("glob", `{"pattern":"*"}`)}, ralph.EndOK, "", 16},
		{"with nothing", []step{empty()}, ralph.EndProvider, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := (&judge{}).input(t)
			fake := &fakeModel{steps: c.steps}
			var got ralph.AgentOutcome
			if c.end == ralph.EndProvider { // it waits
				synctest.Test(t, func(t *testing.T) { got = reviews(t, fake, in) })
			} else {
				got = reviews(t, fake, in)
			}
			same(t, "end", c.end, got.End)
			same(t, "answer", c.answer, got.Answer)
			same(t, "turns", c.turns, *got.Steps)
			same(t, "agent", "reviewer", got.Agent)
			same(t, "task end", "", got.TaskEnd)
		})
	}
}

func TestAReviewerOnlyReads(t *testing.T) {
	fake := &fakeModel{steps: []step{calls("bash", `{"command":"touch x"}`, "write_file", `{"path":"x","content":"x"}`), says("no")}}
	in := (&judge{}).input(t)
	reviews(t, fake, in)
	var names []string
	for _, tool := range fake.asked[0].Tools {
		names = append(names, tool.Name)
	}
	same(t, "tools", []string{"read_file", "glob", "grep", submitVerdict}, names)
	for _, r := range lastResults(fake.asked[1]) {
		if !r.Failed || !contains(r.Text, "there is no tool") {
			t.Errorf("answered with %+v", r)
		}
	}
	if _, err := os.Stat(filepath.Join(in.Dir, "x")); err == nil {
		t.Error("it wrote a file")
	}
}

// TestTheLastTurnOfAReview asks for a verdict by all means, and does without where an endpoint cannot.
func TestTheLastTurnOfAReview(t *testing.T) {
	fake := &fakeModel{}
	fake.steps = []step{func(_ context.Context, r model.Request) (model.Reply, error) {
		if r.MustCall != "" {
			return model.Reply{}, &model.Fault{Kind: model.FaultRefused, Status: 400, Message: "tool_choice is not supported"}
		}
		if contains(lastText(r), "One turn is left: call submit_verdict now.") {
			return calling(submitVerdict, `{"verdict":"reject"}`), nil
		}
		return calling("glob", `{"pattern":"*"}`), nil
	}}
	got := reviews(t, fake, (&judge{}).input(t))
	same(t, "answer", `{"verdict":"reject"}`, got.Answer)
	same(t, "turns", 16, *got.Steps)
	var musts []string
	for _, r := range fake.asked[14:] {
		musts = append(musts, r.MustCall)
	}
	same(t, "what had to be called", []string{"", submitVerdict, ""}, musts)
}

func lastText(r model.Request) string {
	if results := lastResults(r); len(results) > 0 {
		return results[len(results)-1].Text
	}
	return ""
}

// TestAReviewerForTheEvaluator puts the two together as they are.
func TestAReviewerForTheEvaluator(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "calc.go"), []byte("package calc\n\nfunc Add(a, b int) int { return a + b }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	nonce := regexp.MustCompile(`Its nonce is ([0-9a-f]+)`)
	for _, c := range []struct {
		name, verdict string
		accepted      bool
		category      ralph.Rejection
		tries         int
	}{
		{"accepts", `{"nonce":"NONCE","verdict":"accept","evidence":["calc.go:3"]}`, true, "", 1},
		{"rejects", `{"nonce":"NONCE","verdict":"reject","category":"acceptance_gap","concern":"no test","evidence":["calc.go:3"],"next_step":"add one"}`, false, ralph.RejectedGap, 1},
		{"cannot be used", `{"nonce":"NONCE","verdict":"perhaps"}`, false, ralph.RejectedInvalid, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := clientFunc(func(_ context.Context, r model.Request) (model.Reply, error) {
				if len(r.Messages) == 1 {
					return calling("read_file", `{"path":"calc.go"}`), nil
				}
				if !contains(lastText(r), "func Add") {
					t.Errorf("it read %q", lastText(r))
				}
				word := nonce.FindStringSubmatch(r.Messages[0].Text)[1]
				return calling(submitVerdict, strings.Replace(c.verdict, "NONCE", word, 1)), nil
			})
			e := &evaluate.Evaluator{Agent: NewReviewer(Options{Client: client}), Model: "claude-sonnet-4-5"}
			got, err := e.Evaluate(t.Context(), ralph.EvaluationInput{Task: "T-1", Dir: dir, Live: func(ralph.Activity) {}})
			if err != nil {
				t.Fatal(err)
			}
			same(t, "end", ralph.EndOK, got.End)
			same(t, "accepted", c.accepted, got.Accepted)
			same(t, "category", c.category, got.Category)
			same(t, "tries", c.tries, got.Tries)
			if got.Cost == nil || *got.Cost <= 0 || !got.CostEstimated {
				t.Errorf("it cost %v", got.Cost)
			}
		})
	}
}

// TestTheVerdictToolAgreesWithTheInstructions: the same fields, in the tool and in the text that the evaluator sends.
func TestTheVerdictToolAgreesWithTheInstructions(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "verify", "evaluate", "prompt.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ = bytes.Cut(page, []byte("%% answer"))
	var told []string
	for _, m := range regexp.MustCompile(`(?m)^- "(\w+)":`).FindAllSubmatch(page, -1) {
		told = append(told, string(m[1]))
	}
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(verdictTool.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var known []string
	for name := range schema.Properties {
		known = append(known, name)
	}
	slices.Sort(told)
	slices.Sort(known)
	same(t, "fields", told, known)
	if !contains(verdictTool.Description, "the JSON object that the instructions ask for") {
		t.Errorf("the tool is described as %q", verdictTool.Description)
	}
}

func TestHowLongAReviewMayTake(t *testing.T) {
	for set, want := range map[int]int{0: 16, 2: 2, 100: 16} {
		fake := &fakeModel{steps: []step{calls("glob", `{"pattern":"*"}`)}}
		got, err := NewReviewer(Options{Client: fake, MaxTurns: set}).Run(t.Context(), (&judge{}).input(t))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "turns", want, *got.Steps)
	}
}

func TestTheEndOfALongAnswerIsKept(t *testing.T) {
	got := reviews(t, &fakeModel{steps: []step{says(strings.Repeat("é", 1<<20) + `{"verdict":"accept"}`)}}, (&judge{}).input(t))
	if len(got.Answer) > answerCap || !strings.HasSuffix(got.Answer, `é{"verdict":"accept"}`) {
		t.Errorf("kept %d bytes", len(got.Answer))
	}
}
