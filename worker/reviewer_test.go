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
	"github.com/ralphloop/ralph/internal/proof/evaluate"
	"github.com/ralphloop/ralph/model"
)

func reviews(t *testing.T, client model.Client, in ralph.AgentInput) ralph.AgentOutcome {
	t.Helper()
	in.Turn, in.Submit = nil, nil // as internal/proof/evaluate leaves them
	got, err := NewReviewer(Options{Client: client}).Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAReviewEndsWithAVerdict(t *testing.T) {
	verdict := `{"nonce":"n","verdict":"accept","category":"","concern":"","evidence":["a.go:1"],"next_step":""}`
	flawed := `{"nonce":"n","verdict":"reject","category":"ugly"}`
	for _, c := range []struct {
		name   string
		steps  []step
		end    ralph.EndClass
		answer string
		turns  int
	}{
		{"with the tool", []step{calls("glob", `{"pattern":"*"}`), calls(submitVerdict, verdict)}, ralph.EndOK, verdict, 2},
		{"with words", []step{says("I looked.\n" + verdict)}, ralph.EndOK, "I looked.\n" + verdict, 1},
		{
			"with a call that is no JSON, then one that is",
			[]step{calls(submitVerdict, `{"nonce`), calls(submitVerdict, verdict)}, ralph.EndOK, `{"nonce` + "\n" + verdict, 2,
		},
		{
			"with the first of two, and the other is not lost", []step{calls(submitVerdict, verdict, submitVerdict, `{}`)},
			ralph.EndOK, "{}\n" + verdict, 1,
		},
		{
			"with a form that is mended",
			[]step{calls(submitVerdict, flawed), calls("glob", `{"pattern":"*"}`), calls(submitVerdict, verdict)}, ralph.EndOK,
			flawed + "\n" + verdict, 3,
		},
		{
			"with a form that is never mended", []step{calls(submitVerdict, flawed)}, ralph.EndOK,
			strings.TrimSpace(strings.Repeat(flawed+"\n", 7)), 7,
		},
		{
			"with a wrong form, then words", []step{calls(submitVerdict, flawed), says("I reject.")}, ralph.EndOK,
			flawed + "\nI reject.", 2,
		},
		{"with a wrong form, then nothing", []step{calls(submitVerdict, flawed), empty()}, ralph.EndProvider, flawed, 1},
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
	fake := &fakeModel{
		steps: []step{calls("bash", `{"command":"touch x"}`, "write_file", `{"path":"x","content":"x"}`), says("no")},
	}
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

// TestTheLastTurnOfAReview forces a verdict, and does without where an endpoint does not support
// it.
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

// TestTheFormOfAVerdict: the model is told which field is wrong, and an accepted verdict has a form
// that the evaluator accepts.
func TestTheFormOfAVerdict(t *testing.T) {
	const ok = `{"nonce":"n","verdict":"reject","category":"weak_test","concern":"c","evidence":["a.go:1"],` +
		`"next_step":"s"}`
	const fine = `{"nonce":"n","verdict":"accept","evidence":["a.go:1","b c.go:12-14"]}`
	but := func(old, new string) string { return strings.Replace(ok, old, new, 1) }
	for name, c := range map[string]struct{ input, problem string }{
		"a rejection":       {ok, ""},
		"without a pointer": {but(`"a.go:1"`, ""), ""},
		"an acceptance":     {fine, ""},
		"an empty category": {strings.Replace(fine, `"evidence"`, `"category":"","evidence"`, 1), ""},
		"another category": {
			but("weak_test", "hardcoded"),
			`field category must be one of scope_creep, acceptance_gap, weak_test, tests_pass_but_wrong, half_finished, ` +
				`spec_violation, not "hardcoded"`,
		},
		"no category": {
			but(`"category":"weak_test",`, ""), "field category is empty; a rejection must name one of the categories",
		},
		"no concern": {but(`"c"`, `" "`), "field concern is empty; a rejection must say what is wrong"},
		"no next step": {
			but(`"s"`, `""`), "field next_step is empty; a rejection must say what to do about the concern",
		},
		"another field": {
			but(`"concern"`, `"notes":"x","concern"`),
			"field notes is unknown; the fields are nonce, verdict, category, concern, evidence, next_step",
		},
		"another verdict": {
			but(`"reject"`, `"perhaps"`), `field verdict must be one of accept, reject, not "perhaps"`,
		},
		"prose": {
			but("a.go:1", "line 1 is hard coded"), `field evidence[0] must be of the form path:line, not "line 1 is hard coded"`,
		},
		"no list":  {but(`["a.go:1"]`, `"a.go:1"`), "field evidence must be an array, not a string"},
		"no nonce": {but(`"nonce":"n",`, ""), "field nonce is missing"},
		"a category to accept": {
			strings.Replace(fine, `"evidence"`, `"category":"weak_test","evidence"`, 1),
			"field category must be left out of an acceptance",
		},
		"no evidence to accept": {
			`{"nonce":"n","verdict":"accept","evidence":[]}`,
			"field evidence is empty; an acceptance needs at least one path:line",
		},
		"longer than can be read": {
			but(`"c"`, `"`+strings.Repeat("c", maxVerdictBytes)+`"`), "it has 16490 bytes, more than 16384",
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake := &fakeModel{steps: []step{calls(submitVerdict, c.input), says("that is all")}}
			got := reviews(t, fake, (&judge{}).input(t))
			if c.problem == "" {
				same(t, "answer", c.input, got.Answer)
				return
			}
			same(
				t,
				"told",
				[]model.Result{
					{ID: lastResults(fake.asked[1])[0].ID, Text: "the verdict was not submitted: " + c.problem, Failed: true},
				},
				lastResults(fake.asked[1]),
			)
			same(t, "answer", c.input+"\nthat is all", got.Answer)
		})
	}
}

// TestTheCategoriesOfTheTool are those of the loop.
func TestTheCategoriesOfTheTool(t *testing.T) {
	var schema struct {
		Properties struct {
			Category struct {
				Enum []ralph.Rejection `json:"enum"`
			} `json:"category"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(verdictTool().Schema, &schema); err != nil {
		t.Fatal(err)
	}
	same(t, "categories", ralph.Rejections(), schema.Properties.Category.Enum)
}

// TestAReviewerForTheEvaluator puts the two together as they are.
func TestAReviewerForTheEvaluator(t *testing.T) {
	dir := t.TempDir()
	source := []byte("package calc\n\nfunc Add(a, b int) int { return a + b }\n")
	if err := os.WriteFile(filepath.Join(dir, "calc.go"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	nonce := regexp.MustCompile(`Its nonce is ([0-9a-f]+)`)
	const (
		accept = `{"nonce":"NONCE","verdict":"accept","evidence":["calc.go:3"]}`
		reject = `{"nonce":"NONCE","verdict":"reject","category":"acceptance_gap","concern":"no test",` +
			`"evidence":["calc.go:3"],"next_step":"add one"}`
		flawed = `{"nonce":"NONCE","verdict":"reject","category":"hardcoded","concern":"no test",` +
			`"evidence":["calc.go:3"],"next_step":"add one"}`
	)
	for _, c := range []struct {
		name     string
		verdicts []string // of one call after another; the last again and again
		accepted bool
		category ralph.Rejection
		tries    int
	}{
		{"accepts", []string{accept}, true, "", 1},
		{"rejects", []string{reject}, false, ralph.RejectedGap, 1},
		{"rejects in another form, and mends it", []string{flawed, reject}, false, ralph.RejectedGap, 1},
		{"rejects in another form, then accepts", []string{flawed, accept}, false, ralph.RejectedInvalid, 2},
		{"rejects in another form, and does not mend it", []string{flawed}, false, ralph.RejectedInvalid, 2},
		{
			"accepts what is not there, then rejects", []string{strings.Replace(accept, ":3", ":9", 1), reject}, false,
			ralph.RejectedGap, 2,
		},
		{"cannot be used", []string{`{"nonce":"NONCE","verdict":"perhaps"}`}, false, ralph.RejectedInvalid, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			given := 0
			client := clientFunc(func(_ context.Context, r model.Request) (model.Reply, error) {
				if len(r.Messages) == 1 {
					return calling("read_file", `{"path":"calc.go"}`), nil
				}
				if len(r.Messages) == 3 && !contains(lastText(r), "func Add") {
					t.Errorf("it read %q", lastText(r))
				}
				word := nonce.FindStringSubmatch(r.Messages[0].Text)[1]
				given++
				return calling(submitVerdict, strings.Replace(c.verdicts[min(given, len(c.verdicts))-1], "NONCE", word, 1)), nil
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

// TestTheVerdictToolAgreesWithTheInstructions: the same fields, in the tool and in the text that
// the evaluator sends.
func TestTheVerdictToolAgreesWithTheInstructions(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "internal", "proof", "evaluate", "prompt.md"))
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
	if err := json.Unmarshal(verdictTool().Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var known []string
	for name := range schema.Properties {
		known = append(known, name)
	}
	slices.Sort(told)
	slices.Sort(known)
	same(t, "fields", told, known)
	if !contains(verdictTool().Description, "the JSON object that the instructions ask for") {
		t.Errorf("the tool is described as %q", verdictTool().Description)
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
	got := reviews(
		t, &fakeModel{steps: []step{says(strings.Repeat("é", 1<<20) + `{"verdict":"accept"}`)}}, (&judge{}).input(t),
	)
	if len(got.Answer) > maxAnswerBytes || !strings.HasSuffix(got.Answer, `é{"verdict":"accept"}`) {
		t.Errorf("kept %d bytes", len(got.Answer))
	}
}
