package worker

import (
	"context"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

func TestWhatRejectionsTeach(t *testing.T) {
	yes := `{"propose":true,"learning":"the tests need a database"}`
	for _, c := range []struct {
		name    string
		answers []ralph.CaseAnswer
		last    step
		asked   bool
		learned []string
	}{
		{"something", []ralph.CaseAnswer{rejected, accepted}, says(yes), true, []string{"the tests need a database"}},
		{
			"with blanks around", []ralph.CaseAnswer{rejected, accepted}, says("\n " + yes + "\n"), true,
			[]string{"the tests need a database"},
		},
		{
			"a line as every prompt asks for", []ralph.CaseAnswer{rejected, accepted}, says("LEARNING: reviewers are fussy"),
			true, []string{"reviewers are fussy"},
		},
		{
			"such a line in bold, with words around", []ralph.CaseAnswer{rejected, accepted},
			says("Yes.\n\n- **LEARNING:** reviewers are fussy\n"), true, []string{"reviewers are fussy"},
		},
		{"two such lines", []ralph.CaseAnswer{rejected, accepted}, says("LEARNING: a\nLEARNING: b"), true, nil},
		{
			"such a line that is too long", []ralph.CaseAnswer{rejected, accepted},
			says("LEARNING: " + strings.Repeat("x", 301)), true, nil,
		},
		{"such a line without a word", []ralph.CaseAnswer{rejected, accepted}, says("LEARNING:"), true, nil},
		{"the word in a sentence", []ralph.CaseAnswer{rejected, accepted}, says("There is no LEARNING: none."), true, nil},
		{"nothing", []ralph.CaseAnswer{rejected, accepted}, says(`{"propose":false,"learning":""}`), true, nil},
		{
			"nothing, whatever stands there", []ralph.CaseAnswer{rejected, accepted}, says(`{"propose":false,"learning":"x"}`),
			true, nil,
		},
		{"a blank", []ralph.CaseAnswer{rejected, accepted}, says(`{"propose":true,"learning":" "}`), true, nil},
		{"two lines", []ralph.CaseAnswer{rejected, accepted}, says(`{"propose":true,"learning":"a\nb"}`), true, nil},
		{
			"too much", []ralph.CaseAnswer{rejected, accepted},
			says(`{"propose":true,"learning":"` + strings.Repeat("x", 301) + `"}`), true, nil,
		},
		{
			"an extra field", []ralph.CaseAnswer{rejected, accepted}, says(`{"propose":true,"learning":"x","why":"y"}`), true,
			nil,
		},
		{"words around it", []ralph.CaseAnswer{rejected, accepted}, says("Yes: " + yes), true, nil},
		{"in a fence", []ralph.CaseAnswer{rejected, accepted}, says("```json\n" + yes + "\n```"), true, nil},
		{"a call", []ralph.CaseAnswer{rejected, accepted}, submits(), true, nil},
		{
			"a call beside the right words", []ralph.CaseAnswer{rejected, accepted},
			replies(withText(calling("bash", `{}`), yes)), true, nil,
		},
		{"silence", []ralph.CaseAnswer{rejected, accepted}, empty(), true, nil},
		{
			"a fault", []ralph.CaseAnswer{rejected, accepted}, fails(&model.Fault{Kind: model.FaultAuth, Message: "revoked"}),
			true, nil,
		},
		{"no rejection", []ralph.CaseAnswer{accepted}, says(yes), false, nil},
		{"only a check that failed", []ralph.CaseAnswer{red, accepted}, says(yes), false, nil},
		{"never accepted", []ralph.CaseAnswer{rejected, hadIt}, says(yes), false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			steps := make([]step, len(c.answers), len(c.answers)+1)
			for i := range steps {
				steps[i] = submits()
			}
			fake, j := &fakeModel{steps: append(steps, c.last)}, &judge{answers: c.answers}
			got := works(t, Options{Client: fake}, j.input(t))
			same(t, "end", ralph.EndOK, got.End)
			same(t, "turns", len(c.answers), *got.Steps)
			same(t, "turns told", len(c.answers), len(j.turns))
			same(t, "asked", c.asked, len(fake.asked) > len(c.answers))
			same(t, "learned", c.learned, got.Said.Learnings)
			same(t, "cases", len(c.answers), len(j.cases))
		})
	}
}

func TestAfterEveryTaskALearningIsAskedFor(t *testing.T) {
	fake, j := &fakeModel{steps: []step{submits(), says(`{"propose":true,"learning":"the tests need a database"}`)}},
		&judge{answers: []ralph.CaseAnswer{accepted}}
	got := works(t, Options{Client: fake, LearnFromEach: true}, j.input(t))
	same(t, "learned", []string{"the tests need a database"}, got.Said.Learnings)
	same(t, "tokens", &ralph.Tokens{Input: 200, Output: 20}, got.Tokens)
	question := fake.asked[1].Messages[len(fake.asked[1].Messages)-1]
	same(t, "asked", trimmed(learnPage), question.Text)
}

func TestWhatIsLearnedIsPaidFor(t *testing.T) {
	fake, j := &fakeModel{steps: []step{submits(), submits(), says("no")}}, &judge{
		answers: []ralph.CaseAnswer{rejected, accepted},
	}
	got := works(t, Options{Client: fake}, j.input(t))
	same(t, "tokens", &ralph.Tokens{Input: 300, Output: 30}, got.Tokens)
	question := fake.asked[2].Messages[len(fake.asked[2].Messages)-1]
	if question.Role != model.User || !contains(question.Text, "half of it") ||
		!contains(question.Text, trimmed(learnPage)) {
		t.Errorf("asked %+v", question)
	}
}

func TestALearningIsNotWaitedForLong(t *testing.T) {
	var left context.Context
	hears := func(ctx context.Context, _ model.Request) (model.Reply, error) {
		left = ctx
		return model.Reply{}, nil
	}
	fake, j := &fakeModel{steps: []step{submits(), submits(), hears}}, &judge{
		answers: []ralph.CaseAnswer{rejected, accepted},
	}
	works(t, Options{Client: fake}, j.input(t))
	if _, bounded := left.Deadline(); !bounded {
		t.Error("it is waited for without end")
	}
}
