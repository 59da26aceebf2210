package interview

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

// fakeAgent answers as the test says, and keeps the prompts. At its end it repeats the last answer.
type fakeAgent struct {
	outcomes []ralph.AgentOutcome
	prompts  []string
}

func (f *fakeAgent) Run(_ context.Context, in ralph.AgentInput) (ralph.AgentOutcome, error) {
	f.prompts = append(f.prompts, in.Prompt)
	return f.outcomes[min(len(f.prompts), len(f.outcomes))-1], nil
}

func answersWith(texts ...string) *fakeAgent {
	f := &fakeAgent{}
	for _, text := range texts {
		f.outcomes = append(f.outcomes, ralph.AgentOutcome{End: ralph.EndOK, Answer: text})
	}
	return f
}

const (
	goodPlan = "Here it is.\n```json\n" + `{"plan": {"overview": "o", "tasks": [{"id": "T-1", "title": "t", ` +
		`"description": "d", "acceptance": ["a"], "checks": ["sh t.sh"]}]}}` + "\n```\n"
	twoQuestions = "```json\n" + `{"questions": [{"question": "Which?"}, ` +
		`{"question": "When?", "options": ["now", "then"]}]}` + "\n```"
)

func TestAnAgentAsksAndPlans(t *testing.T) {
	agent := answersWith(twoQuestions, goodPlan)
	out, err := Run(t.Context(), Options{Agent: agent, Brief: "b", Lint: anything, Ask: replies("this", "2")})
	must(t, err)
	if out.Status != Written || out.Turns != 2 || len(out.Tasks) != 1 {
		t.Errorf("%+v", out)
	}
	diff(t, []Asked{
		{Question{Number: 1, Text: "Which?"}, "this"},
		{Question{Number: 2, Text: "When?", Options: []string{"now", "then"}}, "then"},
	}, out.Asked)
	if strings.Contains(agent.prompts[0], "write_plan") || strings.Contains(agent.prompts[0], "{{") {
		t.Error("the prompt names a tool or has a placeholder:\n" + agent.prompts[0])
	}
	want := "# Questions and answers so far\n\nYou asked: Which?\nThe person answers: this\n\nYou asked: When?\n" +
		"The person answers: then\n\n# How to answer"
	if !strings.Contains(agent.prompts[1], want) {
		t.Error(agent.prompts[1])
	}
}

func TestWhereAnAgentsAnswerIs(t *testing.T) {
	const plan, other = `{"plan": 1}`, `{"name": "x"}`
	for name, c := range map[string]struct{ answer, want string }{
		"fenced":             {"text\n```json\n" + plan + "\n```", plan},
		"more text below it": {"```json\n" + plan + "\n```\nThat is all.", plan},
		"without a mark":     {"```\n" + plan + "\n```", plan},
		"not closed":         {"```json\n" + plan, plan},
		"indented":           {"1. This\n   ```json\n   " + plan + "\n   ```", plan},
		"nothing else":       {"\n" + plan + "\n", plan},
		"a quoted file":      {"```json\n" + other + "\n```\n```json\n" + plan + "\n```", plan},
		"a fence inside":     {"```json\n{\"plan\": \"a\\n```\\nb\"}\n```", "{\"plan\": \"a\\n```\\nb\"}"},
		"invalid":            {"```json\n{\"plan\": \n```", "{\"plan\":"},
		"two":                {"```json\n" + plan + "\n```\n```json\n{\"questions\": []}\n```", ""},
		"none":               {"text", ""},
		"no JSON":            {"```sh\nls\n```", ""},
	} {
		got, err := findBlock(c.answer)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestAnswersOfAnAgentThatMakeNoSense(t *testing.T) {
	fenced := func(text string) string { return "```json\n" + text + "\n```" }
	for answer, want := range map[string]string{
		"text":                              "the answer has no fenced block of JSON",
		fenced(`{"plan": `):                 "is not valid JSON",
		fenced(`{}`):                        "either questions or a plan",
		fenced(`{"questions": []}`):         "either questions or a plan",
		fenced(`{"questions": ["Which?"]}`): "questions[0]",
		fenced(`{"questions": [{"question": "a"}], "plan": {}}`): "either questions or a plan",
		fenced(`{"tasks": []}`):                                  "tasks",
		fenced(`{"plan": {"overview": "o", "tasks": []}}`):       "field tasks must have 1 to 200 tasks",
	} {
		agent := answersWith(answer, goodPlan)
		out, err := Run(t.Context(), Options{Agent: agent, Brief: "b", Lint: anything})
		must(t, err)
		_, told, _ := strings.Cut(agent.prompts[1], "# What is wrong with your last answer\n\nnot accepted: ")
		told, _, _ = strings.Cut(told, "\n")
		if out.Status != Written || out.Turns != 2 || !strings.Contains(told, want) {
			t.Errorf("%s: told %q: %+v", answer, told, out)
		}
	}
}

func TestAnAgentAsksTheSameAgain(t *testing.T) {
	agent := answersWith(twoQuestions, twoQuestions, goodPlan)
	out, err := Run(t.Context(), Options{Agent: agent, Brief: "b", Lint: anything, Ask: replies("this", "2")})
	must(t, err)
	if out.Status != Written || len(out.Asked) != 2 ||
		!strings.Contains(agent.prompts[2], "all these questions were asked before") {
		t.Errorf("%+v\n%s", out, agent.prompts[2])
	}
}

func TestAnAgentAsksTooMuch(t *testing.T) {
	var questions []string
	for i := range MaxQuestions + 1 {
		questions = append(questions, fmt.Sprintf(`{"question": "Number %d?"}`, i))
	}
	agent := answersWith(`{"questions": [`+strings.Join(questions, ",")+`]}`, goodPlan)
	out, err := Run(t.Context(), Options{
		Agent: agent, Brief: "b", Lint: anything,
		Ask: func(context.Context, Question) (string, bool, error) { return "yes", true, nil },
	})
	must(t, err)
	if out.Status != Written || len(out.Asked) != MaxQuestions ||
		!strings.Contains(agent.prompts[1], "the limit of 10 questions is reached; decide yourself") {
		t.Errorf("%+v\n%s", out, agent.prompts[1])
	}
}

func TestWhatAnAgentSpends(t *testing.T) {
	cost := 0.5
	priced := func(string) (model.Price, bool) { return model.Price{Model: "m", Input: 1, Output: 1}, true }
	tokens := &ralph.Tokens{Input: 1_000_000}
	for name, c := range map[string]struct {
		used   ralph.AgentOutcome
		max    float64
		status Status
		turns  int
	}{
		"reported":      {ralph.AgentOutcome{Cost: &cost}, 1, OverBudget, 2},
		"from tokens":   {ralph.AgentOutcome{Tokens: tokens, Model: "m"}, 2, OverBudget, 2},
		"not reported":  {ralph.AgentOutcome{}, 1, OverBudget, 1},
		"without limit": {ralph.AgentOutcome{}, 0, NoPlan, 3},
	} {
		c.used.End, c.used.Answer = ralph.EndOK, "text"
		out, err := Run(t.Context(), Options{
			Agent: &fakeAgent{outcomes: []ralph.AgentOutcome{c.used}}, Brief: "b", Lint: anything, MaxCost: c.max, Price: priced,
		})
		must(t, err)
		if out.Status != c.status || out.Turns != c.turns {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestAnAgentThatIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	agent := answersWith(goodPlan)
	out, err := Run(ctx, Options{Agent: agent, Brief: "b", Lint: anything})
	must(t, err)
	if out.Status != Failed || out.End != ralph.EndInterrupted || len(agent.prompts) > 0 {
		t.Errorf("%+v", out)
	}
}

func TestTheBlockOfAnAgentIsNotShown(t *testing.T) {
	var shown []string
	r := &rounds{session: &session{options: Options{Live: func(a ralph.Activity) {
		shown = append(shown, strings.TrimSpace(a.Kind+" "+a.Name+a.Detail))
	}}}}
	for _, a := range []ralph.Activity{
		{Kind: "text", Detail: "I look."},
		{Kind: "tool", Name: "Read"},
		{Kind: "text", Detail: "Like ```this"},
		{Kind: "tool", Name: "Grep"},
		{Kind: "text", Detail: "Done. ```json {"},
		{Kind: "text", Detail: `"plan": 1}`},
		{Kind: "spent"},
	} {
		r.show(a)
	}
	diff(t, []string{"text I look.", "tool Read", "text Like", "tool Grep", "text Done.", "spent"}, shown)
}

func TestAFailingProviderIsTriedAgain(t *testing.T) {
	down := ralph.AgentOutcome{End: ralph.EndProvider, Error: "overloaded"}
	works := ralph.AgentOutcome{End: ralph.EndOK, Answer: goodPlan}
	for name, c := range map[string]struct {
		outcomes []ralph.AgentOutcome
		status   Status
		calls    int
	}{
		"once":     {[]ralph.AgentOutcome{down, works}, Written, 2},
		"for good": {[]ralph.AgentOutcome{{End: ralph.EndProvider, Hint: ralph.HintSettings}, works}, Failed, 1},
		"limited":  {[]ralph.AgentOutcome{{End: ralph.EndLimit, RetryAfter: 60}, works}, Failed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := &fakeAgent{outcomes: c.outcomes}
			out, err := Run(t.Context(), Options{Agent: agent, Brief: "b", Lint: anything})
			must(t, err)
			if out.Status != c.status || len(agent.prompts) != c.calls || out.RetryAfter != c.outcomes[0].RetryAfter {
				t.Errorf("%d calls: %+v", len(agent.prompts), out)
			}
		})
	}
}
