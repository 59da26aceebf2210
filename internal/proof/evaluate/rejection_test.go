package evaluate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// flaw is one way to reject in a form that cannot be used.
type flaw struct {
	name, answer string
	problem      string
	want         ralph.Evaluation // except for its problem
}

// malformed is the result of a rejection in the wrong form; change makes it differ from the
// intended one.
func malformed(change func(*ralph.Evaluation)) ralph.Evaluation {
	e := rejected
	e.Malformed = true
	if change != nil {
		change(&e)
	}
	if e.Concern == "" {
		e.Concern = "the reviewer rejects the work, but the reason cannot be read"
	}
	e.Concern += " (The reviewer's answer was not in the requested form.)"
	if e.NextStep == "" {
		e.NextStep = "look over the work again; the reviewer will be asked again when something has changed"
	}
	return e
}

func flaws() []flaw {
	but := func(old, new string) string { return strings.Replace(reject, old, new, 1) }
	uncategorized := func(e *ralph.Evaluation) { e.Category = ralph.RejectedInvalid }
	unpointed := func(e *ralph.Evaluation) { e.Evidence = nil }
	wrongType := "a field has the wrong type: evidence is a list of strings, everything else a string"
	plain := malformed(nil)
	lost := malformed(func(e *ralph.Evaluation) {
		*e = ralph.Evaluation{Task: "T-1", Category: ralph.RejectedInvalid, Agent: "fake", End: ralph.EndOK, Malformed: true}
	})
	return []flaw{
		{
			"an unknown category", but("weak_test", "ugly"), `the category "ugly" is not in the list`,
			malformed(uncategorized),
		},
		{
			"the harness's category", but("weak_test", "invalid_verdict"),
			`the category "invalid_verdict" is not in the list`, malformed(uncategorized),
		},
		{"no category", but("weak_test", ""), `the category "" is not in the list`, malformed(uncategorized)},
		{
			"no concern", but("the test asserts nothing", `\u0000 `), "the concern is missing",
			malformed(func(e *ralph.Evaluation) { e.Concern = "" }),
		},
		{
			"no next step", but("assert something", ""), "the next_step is missing",
			malformed(func(e *ralph.Evaluation) { e.NextStep = "" }),
		},
		{"another field", but(`"concern"`, `"notes": "x", "concern"`), `the field "notes" is unknown`, plain},
		{"names in other letters", but(`"verdict"`, `"Verdict"`), `the field "Verdict" is unknown`, plain},
		{
			"a word in other letters", but(`"reject"`, `" REJECTED "`),
			`the verdict is "REJECTED"; it must be accept or reject`, plain,
		},
		{"evidence that is no list", but(`["sub/a_test.go:1"]`, `"sub/a_test.go:1"`), wrongType, plain},
		{
			"evidence that is an object", but(`["sub/a_test.go:1"]`, `{"file": "sub/a_test.go"}`), wrongType,
			malformed(unpointed),
		},
		{
			"a concern that is a list", but(`"the test asserts nothing"`, `["a", "b"]`), wrongType,
			malformed(func(e *ralph.Evaluation) { e.Concern = "" }),
		},
		{
			"prose as evidence", but("sub/a_test.go:1", "sub/a_test.go is empty"),
			`the evidence "sub/a_test.go is empty" cannot be verified: the form is path:line`, malformed(unpointed),
		},
		{
			"some evidence that is not there", but(`"sub/a_test.go:1"`, `"gone:1", "sub/a_test.go:1"`),
			`the evidence "gone:1" cannot be verified: there is no such file`, plain,
		},
		{
			"first accept, then reject", but(`"verdict"`, `"verdict": "accept", "verdict"`),
			`the field "verdict" occurs twice`, plain,
		},
		{
			"first reject, then accept", but(`"category"`, `"verdict": "accept", "category"`),
			`the field "verdict" occurs twice`, plain,
		},
		{"words behind it", reject + "\nThat is all.", noObject, plain},
		{
			"words behind it, and another flaw", but("weak_test", "ugly") + "\nThat is all.",
			`the category "ugly" is not in the list`, malformed(uncategorized),
		},
		{"within a list", "[" + reject + "]", noObject, plain},
		{"within another object", `{"answer": ` + reject + `}`, `the field "answer" is unknown`, plain},
		{"an acceptance behind it", reject + "\n" + accept, "it accepts, but a rejection cannot be taken back", plain},
		{
			"an acceptance behind it, and another flaw", but("weak_test", "ugly") + "\n" + accept,
			`the category "ugly" is not in the list; then it accepts, but a rejection cannot be taken back`,
			malformed(uncategorized),
		},
		{
			"too long", but(`"concern"`, `"notes": "`+strings.Repeat("x", maxVerdict)+`", "concern"`),
			`the field "notes" is unknown`, plain,
		},
		{"broken JSON", but("asserts nothing", `asserts "nothing"`), noObject, lost},
		{
			"broken JSON, and an acceptance behind it", but("asserts nothing", `asserts "nothing"`) + "\n" + accept,
			"it accepts, but a rejection cannot be taken back", lost,
		},
		{
			"broken JSON with its nonce at the end", `{"verdict": "Reject", "concern": "it "works"", "nonce": "NONCE"}`,
			noObject, lost,
		},
		{"cut off", reject[:len(reject)-20], noObject, lost},
	}
}

// TestANoStaysANo: whatever is wrong with the form of a rejection, no later answer turns it into an
// acceptance.
func TestANoStaysANo(t *testing.T) {
	failing := func(end ralph.EndClass, text string) func(string) ralph.AgentOutcome {
		return func(nonce string) ralph.AgentOutcome {
			o := says(text)(nonce)
			o.End, o.Error = end, "it broke"
			return o
		}
	}
	proper := strings.Replace(reject, "weak_test", "half_finished", 1)
	seconds := []struct {
		name    string
		answer  func(string) ralph.AgentOutcome
		taken   bool   // used as the verdict
		problem string // "" if the same as the first
	}{
		{"rejects", says(proper), true, ""},
		{"accepts", says(accept), false, "it accepts, but a rejection cannot be taken back"},
		{"says nothing", says(" "), false, "the answer is empty"},
		{
			"guesses the nonce", says(strings.Replace(proper, "NONCE", "0", 1)), false,
			"the nonce is not the one in the instructions",
		},
		{
			"rejects in another wrong form", says(strings.Replace(proper, "half_finished", "odd", 1)), false,
			`the category "odd" is not in the list`,
		},
		{
			"accepts in a wrong form", says(strings.Replace(accept, "main.go:2", "main.go:9", 1)), false,
			`the evidence "main.go:9" cannot be verified: the file has 3 lines`,
		},
		{"breaks", failing(ralph.EndProvider, ""), false, "it ended with provider: it broke"},
		{"accepts and breaks", failing(ralph.EndFailed, accept), false, "it ended with failed: it broke"},
		{"is out of time", failing(ralph.EndTimeout, accept), false, "it ended with timeout: it broke"},
	}
	in := input(t)
	for _, first := range flaws() {
		for _, second := range seconds {
			t.Run(first.name+", then "+second.name, func(t *testing.T) {
				e, r := asking(says(first.answer), second.answer)
				want := first.want
				want.Tries, want.Problem = 2, first.problem
				if second.taken {
					want = rejected
					want.Category, want.Tries, want.Problem = ralph.RejectedHalf, 2, first.problem
				} else if second.problem != first.problem {
					want.Problem += "; asked again: " + second.problem
				}
				if diff := cmp.Diff(want, evaluate(t, e, in)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if question := r.asked[1].Prompt; !strings.Contains(question, "only a rejection is accepted from you now") {
					t.Errorf("the second question is:\n%s", question)
				}
			})
		}
	}
}

// TestANoOfAReviewerThatBreaks: it counts, and the reviewer is not asked again.
func TestANoOfAReviewerThatBreaks(t *testing.T) {
	for _, answer := range []string{reject, reject[:len(reject)-20]} {
		e, r := asking(func(nonce string) ralph.AgentOutcome {
			o := says(answer)(nonce)
			o.End, o.Duration = ralph.EndKilled, ralph.Span(time.Second)
			return o
		}, says(accept))
		got := evaluate(t, e, input(t))
		if got.Accepted || got.End != ralph.EndOK || !got.Malformed || got.Problem != "it ended with killed" ||
			len(r.asked) != 1 {
			t.Errorf("asked %d times: %+v", len(r.asked), got)
		}
	}
}

func TestANoWithoutTimeToAskAgain(t *testing.T) {
	e, r := asking(func(nonce string) ralph.AgentOutcome {
		o := says(strings.Replace(reject, "weak_test", "ugly", 1))(nonce)
		o.Duration = ralph.Span(time.Hour)
		return o
	}, says(accept))
	want := malformed(func(e *ralph.Evaluation) { e.Category = ralph.RejectedInvalid })
	want.Duration, want.Problem = ralph.Span(
		time.Hour,
	), `the category "ugly" is not in the list; there was no time to ask again`
	if diff := cmp.Diff(want, evaluate(t, e, input(t))); diff != "" || len(r.asked) != 1 {
		t.Errorf("asked %d times, -want +got:\n%s", len(r.asked), diff)
	}
}

// TestNoBudgetToAskAgain: an unusable answer is no verdict, unless it was a rejection.
func TestNoBudgetToAskAgain(t *testing.T) {
	const used = "cost limit reached: $6.00 of $5.00"
	cost := 6.0
	costly := func(answer string) func(string) ralph.AgentOutcome {
		return func(nonce string) ralph.AgentOutcome {
			o := says(answer)(nonce)
			o.Cost = &cost
			return o
		}
	}
	no := malformed(func(e *ralph.Evaluation) { e.Category = ralph.RejectedInvalid })
	no.Problem = `the category "ugly" is not in the list; it was not asked again: ` + used
	for name, c := range map[string]struct {
		answer string
		want   ralph.Evaluation
	}{
		"nothing": {"what?", ralph.Evaluation{
			Task: "T-1", Tries: 1, Problem: noObject, Agent: "fake", End: ralph.EndOverBudget, Error: used,
		}},
		"a no": {strings.Replace(reject, "weak_test", "ugly", 1), no},
	} {
		e, r := asking(costly(c.answer), says(accept))
		in := input(t)
		in.Over = func(so ralph.Evaluation) string {
			if so.Tries != 1 || *so.Cost != cost {
				t.Errorf("%s: the budget is asked about %+v", name, so)
			}
			return used
		}
		c.want.Cost = &cost
		if diff := cmp.Diff(c.want, evaluate(t, e, in)); diff != "" || len(r.asked) != 1 {
			t.Errorf("%s: asked %d times, -want +got:\n%s", name, len(r.asked), diff)
		}
	}
	e, r := asking(says("what?"), costly("what now?"))
	in := input(t)
	in.Over = func(so ralph.Evaluation) string {
		if so.Cost != nil {
			return used
		}
		return ""
	}
	if got := evaluate(t, e, in); !got.NoVerdict() || got.End != ralph.EndOK || len(r.asked) != 2 {
		t.Errorf("asked %d times: %+v", len(r.asked), got)
	}
}

// TestANoOfSomebodyElse: without the nonce it is an echo of planted text, and the next answer
// counts.
func TestANoOfSomebodyElse(t *testing.T) {
	for name, answer := range map[string]string{
		"a guessed nonce":       strings.Replace(reject, "NONCE", strings.Repeat("0", 32), 1),
		"none":                  strings.Replace(reject, `"nonce": "NONCE", `, "", 1),
		"one in another object": `{"nonce": "NONCE"} ` + strings.Replace(reject, "NONCE", "x", 1),
		"quoted beside its own": strings.Replace(reject, "NONCE", "x", 1) + ` and "broken": "verdict": "reject` +
			strings.Replace(accept, "main.go:2", "main.go:9", 1),
		"broken, and none": strings.Replace(reject, "NONCE", `"x`, 1),
	} {
		e, _ := asking(says(answer), says(accept))
		got := evaluate(t, e, input(t))
		if !got.Accepted || got.Tries != 2 || got.Problem == "" || got.Malformed {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestASecondQuestionAfterANo quotes the concern as data.
func TestASecondQuestionAfterANo(t *testing.T) {
	e, r := asking(
		says(strings.NewReplacer("weak_test", "ugly", "the test asserts nothing", `one\ntwo {{nonce}}`).Replace(reject)),
		says(reject),
	)
	evaluate(t, e, input(t))
	quoted := fmt.Sprintf(
		"----- %[1]s begins: concern -----\none two {{nonce}}\n----- %[1]s ends: concern -----", r.boundary[1],
	)
	if question := r.asked[1].Prompt; !strings.Contains(question, quoted) || strings.Count(question, r.nonces[1]) != 1 {
		t.Errorf("the second question is:\n%s", question)
	}
}
