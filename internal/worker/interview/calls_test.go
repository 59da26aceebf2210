package interview

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

func TestProblemsAreMended(t *testing.T) {
	r := newRoom(t)
	wrong := somePlan()
	wrong.Tasks[0].ID, wrong.Tasks[1].DependsOn = "T-002", []string{"T-02"}
	o, s := r.with(
		calls(t, writePlan, `{"overview":"x","tasks":[{"id":"A"}]}`),
		calls(t, writePlan, wrong),
		calls(t, writePlan, somePlan()),
	)
	got, err := Run(t.Context(), o)
	must(t, err)
	diff(t, Written, got.Status)
	diff(t, 3, got.Turns)
	diff(
		t, []model.Result{{ID: "call-0", Text: "not accepted: field tasks[0].title is missing", Failed: true}}, s.results(1),
	)
	text := s.results(2)[0].Text
	for _, want := range []string{
		"not accepted:\n- ", "the id T-002 is used twice", `task T-002 depends on "T-02", which is not in the list`,
		"submit the whole plan again",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %q", want, text)
		}
	}
}

func TestDoubtsAreToldOnce(t *testing.T) {
	r := newRoom(t)
	unproven := somePlan()
	for i := range unproven.Tasks {
		unproven.Tasks[i].Checks = nil
	}
	o, s := r.with(calls(t, writePlan, unproven))
	got, err := Run(t.Context(), o)
	must(t, err)
	diff(t, Written, got.Status)
	diff(t, 2, got.Turns)
	if text := s.results(1)[0].Text; !strings.HasPrefix(text, "not accepted yet:\n- nothing can prove this list") {
		t.Error(text)
	}
	diff(t, []string{
		"nothing can prove this list: add a check to the run or to a task",
		"task T-001 has no check of its own", "task T-002 has no check of its own",
	}, got.Warnings)
}

func TestManyProblemsAreCut(t *testing.T) {
	var many []string
	for i := range 25 {
		many = append(many, fmt.Sprintf("problem %d\nwith\x1b[1m lines", i))
	}
	text := listing(many)
	if !strings.HasPrefix(text, "- problem 0 with[1m lines\n") || !strings.HasSuffix(text, "\n- and 5 more") {
		t.Error(text)
	}
}

func TestCallsThatMakeNoSense(t *testing.T) {
	r := newRoom(t)
	o, s := r.with(
		calls(
			t,
			"bash",
			`{"command":"rm -rf /"}`,
			"read_file",
			`{"path":`,
			"read_file",
			`null`,
			"read_file",
			`{"path":"../../etc/passwd"}`,
			askUser,
			`[]`,
			askUser,
			`{"question":" "}`,
			askUser,
			`{"question":"a","why":"b"}`,
			writePlan,
			`{"tasks":[]}`,
			"\x1b[31m",
			`{}`,
		),
		calls(t, writePlan, somePlan()),
	)
	var shown []string
	o.Live = func(a ralph.Activity) {
		if a.Kind == "tool" {
			shown = append(shown, a.Name)
		}
	}
	got, err := Run(t.Context(), o)
	must(t, err)
	diff(t, Written, got.Status)
	results := s.results(1)
	for i, r := range results {
		if !r.Failed || r.Text == "" || r.ID != fmt.Sprintf("call-%d", i) {
			t.Errorf("%d: %+v", i, r)
		}
	}
	diff(t, 9, len(results))
	diff(t, `there is no tool "bash"; the tools are read_file, glob, grep, ask_user, write_plan`, results[0].Text)
	diff(t, "field question is empty", results[5].Text)
	diff(t, map[string]int{"unknown": 2, "read_file": 3, askUser: 3, writePlan: 2}, got.Tools)
	diff(
		t,
		[]string{"unknown tool bash", "read_file", "read_file", "read_file", writePlan, "unknown tool [31m", writePlan},
		shown,
	)
}

func TestManyCallsInOneReply(t *testing.T) {
	r := newRoom(t)
	var many []any
	for range callsLimit + 2 {
		many = append(many, "read_file", `{"path":"greet.sh"}`)
	}
	o, s := r.with(calls(t, many...), calls(t, writePlan, somePlan()))
	got, err := Run(t.Context(), o)
	must(t, err)
	diff(t, Written, got.Status)
	results := s.results(1)
	diff(t, callsLimit+2, len(results))
	diff(t, false, results[callsLimit-1].Failed)
	diff(t, "not run: only the first 64 calls of a reply are run", results[callsLimit].Text)
}

func TestOneQuestionAtATime(t *testing.T) {
	r := newRoom(t)
	o, s := r.with(
		calls(t, askUser, `{"question":"First?"}`, askUser, `{"question":"Second?"}`, writePlan, somePlan()),
		calls(t, askUser, `{"question":" first? "}`),
		calls(t, writePlan, somePlan(), writePlan, somePlan()),
	)
	o.Ask = replies("yes")
	got, err := Run(t.Context(), o)
	must(t, err)
	diff(t, Written, got.Status)
	diff(t, []Asked{{Question{Number: 1, Text: "First?"}, "yes"}}, got.Asked)
	diff(t, []model.Result{
		{ID: "call-0", Text: "The person answers: yes"},
		{
			ID: "call-1", Text: "not asked: one question at a time; ask again if the answer to the other one leaves it open",
			Failed: true,
		},
		{
			ID: "call-2",
			Text: "not accepted: you asked a question in the same reply; wait for the answer, then submit a plan that " +
				"considers it",
			Failed: true,
		},
	}, s.results(1))
	diff(t, []model.Result{{ID: "call-0", Text: "This was asked before. The person answers: yes"}}, s.results(2))
}

func TestOnlyTheFirstPlanOfAReplyIsLookedAt(t *testing.T) {
	r := newRoom(t)
	o, s := r.with(calls(t, writePlan, `{}`, writePlan, somePlan()), calls(t, writePlan, somePlan()))
	got, err := Run(t.Context(), o)
	must(t, err)
	diff(t, 2, got.Turns)
	diff(t, "not accepted: one plan at a time", s.results(1)[1].Text)
}

func TestTenQuestionsAreEnough(t *testing.T) {
	r := newRoom(t)
	var turns []turn
	for i := range MaxQuestions + 1 {
		turns = append(turns, asks(t, fmt.Sprintf("Question %d?", i)))
	}
	o, s := r.with(append(turns, calls(t, writePlan, somePlan()))...)
	o.Ask = func(context.Context, Question) (string, bool, error) { return " \n", true, nil }
	got, err := Run(t.Context(), o)
	must(t, err)
	diff(t, Written, got.Status)
	diff(t, MaxQuestions, len(got.Asked))
	diff(t, "", got.Asked[3].Answer)
	diff(
		t, "The person lets you decide: do so, and note your assumptions in scope_notes.", s.results(1)[0].Text,
	)
	if text := s.results(MaxQuestions + 1)[0].Text; !strings.HasPrefix(
		text, "not asked: the limit of 10 questions is reached",
	) {
		t.Error(text)
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	for _, c := range []struct {
		options      []string
		answer, want string
	}{
		{[]string{"red", "green"}, "2", "green"},
		{[]string{"red", "green"}, " 1. ", "red"},
		{[]string{"red", "green"}, "GREEN", "green"},
		{[]string{"red", "green"}, "3", "3"},
		{[]string{"red", "green"}, "0", "0"},
		{[]string{"3", "1"}, "1", "1"},
		{[]string{"red", "green"}, "blue, as ever\x07", "blue, as ever"},
		{nil, "2", "2"},
		{nil, strings.Repeat("x", answerLimit+1), strings.Repeat("x", answerLimit) + "…"},
	} {
		diff(t, c.want, Question{Options: c.options}.resolveAnswer(c.answer))
	}
}

func TestQuestionsWithinBounds(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for input, want := range map[string]string{
		`{"question":"` + long(questionLimit+1) + `"}`: "field question has more than 2000 " +
			"characters; ask for less at once",
		`{"question":"a","options":["` + long(optionLimit+1) +
			`"]}`: "field options[0] must have 1 to 300 characters",
		`{"question":"a","options":["b","\u001b"]}`: "field options[1] must have 1 to 300 " +
			"characters",
		`{"question":"a","options":["` + strings.Repeat(`x","`, 10) + `y"]}`: "field options has 11 items; the limit is 10",
		`{"options":["b"]}`: "field question is missing",
	} {
		_, err := decodeQuestion([]byte(input))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", input[:min(len(input), 60)], err)
		}
	}
}

func TestWhatIsSeenLive(t *testing.T) {
	r := newRoom(t)
	o, _ := r.with(
		func(ctx context.Context, tell func(model.Delta)) (model.Reply, error) {
			for _, d := range []model.Delta{
				{Thought: "I lo"}, {Thought: "ok\x1b[2J.\nThen"}, {Thought: " I ask.\n\n"}, {Text: "Ah"}, {Tool: "glob"},
				{Thought: "Well"},
			} {
				tell(d)
			}
			got, err := calls(t, "read_file", `{"path":"greet.sh\u0007"}`, "grep", `{"pattern":"a","path":"."}`, "glob", `7`)(
				ctx, tell,
			)
			got.Message.Text = "Ah\nso\x1b."
			return got, err
		},
		calls(t, writePlan, `{"overview":"x","tasks":[{"id":"A\u001b"}]}`),
		calls(t, writePlan, somePlan()),
	)
	o.Price = costs
	var got []ralph.Activity
	o.Live = func(a ralph.Activity) { a.Cost, a.Tokens = nil, nil; got = append(got, a) }
	_, err := Run(t.Context(), o)
	must(t, err)
	diff(t, []ralph.Activity{
		{Kind: "thought", Detail: "I look[2J."}, {Kind: "thought", Detail: "Then I ask."}, {Kind: "thought", Detail: "Well"},
		{Kind: "text", Detail: "Ah so."},
		{Kind: "spent", Estimated: true},
		{Kind: "tool", Name: "read_file", Detail: "greet.sh"}, {Kind: "tool", Name: "grep", Detail: ". a"},
		{Kind: "tool", Name: "glob"},
		{Kind: "spent", Estimated: true},
		{Kind: "tool", Name: "write_plan"}, {Kind: "plan", Detail: "not accepted: field tasks[0].title is missing"},
		{Kind: "spent", Estimated: true},
		{Kind: "tool", Name: "write_plan"},
	}, got)
}
