package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
)

// TestBadCallsAreAnswered has everything that a model can do wrong with a call: each is answered,
// and the loop continues.
func TestBadCallsAreAnswered(t *testing.T) {
	for _, c := range []struct{ name, tool, input, want string }{
		{
			"a tool that is not there", "fly", `{}`,
			`there is no tool "fly"; the tools are bash, read_file, write_file, edit_file, glob, grep, submit_case`,
		},
		{"a name without end", strings.Repeat("x", 10_000), `{}`, strings.Repeat("x", 120) + "…"},
		{"no JSON", "bash", `{"command":`, "the input is not valid JSON: unexpected end of JSON input"},
		{"nothing", "bash", ``, "the input is not valid JSON"},
		{"null", "bash", `null`, "must be an object, not null"},
		{"an array", "bash", `[1]`, "must be an object, not an array"},
		{"another type", "bash", `{"command":1}`, "field command must be a string, not a number"},
		{"an unknown field", "bash", `{"command":"true","sudo":true}`, "field sudo is unknown"},
		{"a way out", "read_file", `{"path":"../../x"}`, "x"},
		{"a path from the root", "read_file", `{"path":"/etc/passwd"}`, "/etc/passwd"},
		{"NUL in a path", "read_file", `{"path":"a\u0000b"}`, ""},
		{"a case that is no JSON", submitCase, `{`, "the input is not valid JSON"},
		{"a case without fields", submitCase, `{}`, "the case was not submitted: field summary is missing"},
		{"a command that fails", "bash", `{"command":"exit 3"}`, "3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake, j := &fakeModel{steps: []step{calls(c.tool, c.input), submits()}}, &judge{}
			got, err := New(Options{Client: fake, Env: os.Environ()}).Run(t.Context(), j.input(t))
			if err != nil || got.End != ralph.EndOK || len(j.cases) != 1 {
				t.Fatalf("outcome %+v, error %v", got, err)
			}
			result := lastResults(fake.asked[1])[0]
			if !result.Failed || !contains(result.Text, c.want) || len(result.Text) > 1000 {
				t.Errorf("answered with %+v", result)
			}
		})
	}
}

func TestRealToolsWork(t *testing.T) {
	fake, j := &fakeModel{steps: []step{
		calls("write_file", `{"path":"a.txt","content":"one\n"}`, "bash", `{"command":"cat a.txt; echo $RALPH_TEST"}`,
			"read_file", `{"path":"a.txt"}`),
		submits(),
	}}, &judge{}
	in := j.input(t)
	got, err := New(Options{Client: fake, Env: append(os.Environ(), "RALPH_TEST=two")}).Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "tools", map[string]int{"write_file": 1, "bash": 1, "read_file": 1, submitCase: 1}, got.Tools)
	same(
		t,
		"live",
		[]string{"write_file: a.txt", "bash: cat a.txt; echo $RALPH_TEST", "read_file: a.txt", "submit_case: it adds"},
		j.activities("tool"),
	)
	results := lastResults(fake.asked[1])
	if !contains(results[1].Text, "one\ntwo") || results[1].Failed {
		t.Errorf("bash answered with %+v", results[1])
	}
	if text, err := os.ReadFile(filepath.Join(in.Dir, "a.txt")); string(text) != "one\n" {
		t.Errorf("the file holds %q, error %v", text, err)
	}
}

func TestCallsKeepTheirOrder(t *testing.T) {
	var order []string
	tool := func(name string) *fakeTool {
		return &fakeTool{name: name, run: func(_ context.Context, input json.RawMessage) tools.Output {
			order = append(order, name+string(input))
			return tools.Output{Text: "did " + string(input)}
		}}
	}
	fake, j := &fakeModel{steps: []step{
		calls("a", `{"n":1}`, submitCase, goodCase, "b", `{"n":2}`, submitCase, goodCase, "a", `{"n":3}`),
		submits(),
	}}, &judge{answers: []ralph.CaseAnswer{red, accepted}}
	in := j.input(t)
	submit := in.Submit
	in.Submit = func(ctx context.Context, c ralph.Case) ralph.CaseAnswer {
		order = append(order, "case")
		return submit(ctx, c)
	}
	works(t, Options{Client: fake}, in, tool("a"), tool("b"))
	same(t, "order", []string{`a{"n":1}`, `b{"n":2}`, `a{"n":3}`, "case", "case"}, order)
	same(t, "results", []model.Result{
		{ID: "c0", Text: `did {"n":1}`},
		{ID: "c1", Text: red.Text, Failed: true},
		{ID: "c2", Text: `did {"n":2}`},
		{ID: "c3", Text: "ignored: only the first submit_case call of a reply counts", Failed: true},
		{ID: "c4", Text: `did {"n":3}`},
	}, lastResults(fake.asked[1]))
}

func TestAThousandCallsInOneReply(t *testing.T) {
	var many []string
	for i := range 1000 {
		many = append(many, "noop", fmt.Sprintf(`{"n":%d}`, i))
	}
	tool := &fakeTool{name: "noop"}
	fake, j := &fakeModel{steps: []step{calls(many...), submits()}}, &judge{}
	works(t, Options{Client: fake}, j.input(t), tool)
	same(t, "ran", 64, len(tool.ran))
	results := lastResults(fake.asked[1])
	same(t, "results", 1000, len(results))
	same(t, "the last that was run", model.Result{ID: "c63", Text: "noop 64"}, results[63])
	same(
		t,
		"the first that was not",
		model.Result{ID: "c64", Text: "not run: only the first 64 calls of a reply are run", Failed: true},
		results[64],
	)
	same(t, "calls that the loop heard of", 64, len(j.turns[0].Calls))
}

func TestRepeatedCallsAreRemarkedUpon(t *testing.T) {
	tool := &fakeTool{name: "look", run: func(context.Context, json.RawMessage) tools.Output {
		return tools.Output{Text: "nothing", Failed: true}
	}}
	steps := make([]step, 7, 9)
	for i := range steps {
		steps[i] = calls("look", `{"at":1}`)
	}
	fake, j := &fakeModel{steps: append(steps, calls("look", `{"at":2}`), submits())}, &judge{}
	works(t, Options{Client: fake}, j.input(t), tool)
	remark := func(n int, more string) string {
		return fmt.Sprintf(
			"nothing\n\n[You made the same call %d times in a row, and it failed in the same way each time.%s]", n, more,
		)
	}
	firm := " Do something else, or call submit_case."
	want := []string{
		"nothing", "nothing", remark(3, ""), remark(4, ""), remark(5, ""), remark(6, firm), remark(7, firm), "nothing",
	}
	var got []string
	for _, r := range fake.asked[1:] {
		got = append(got, lastResults(r)[0].Text)
	}
	same(t, "results", want, got)
}

func TestOtherResultsAreNoRepetition(t *testing.T) {
	flaky := &fakeTool{name: "flaky"}
	flaky.run = func(context.Context, json.RawMessage) tools.Output {
		return tools.Output{Text: "so", Failed: len(flaky.ran)%2 == 0}
	}
	unsure, other := &fakeModel{steps: []step{calls("flaky", `{}`, "flaky", `{}`, "flaky", `{}`), submits()}}, &judge{}
	works(t, Options{Client: unsure}, other.input(t), flaky)
	same(t, "the third", model.Result{ID: "c2", Text: "so"}, lastResults(unsure.asked[1])[2])
	fake, j := &fakeModel{
		steps: []step{calls("noop", `{}`, "noop", `{}`, "noop", `{}`, "noop", `{}`), submits()},
	}, &judge{}
	works(t, Options{Client: fake}, j.input(t), &fakeTool{name: "noop"})
	for _, r := range lastResults(fake.asked[1]) {
		if contains(r.Text, "in a row") {
			t.Errorf("remarked: %q", r.Text)
		}
	}
}

func TestACutReply(t *testing.T) {
	reply := calling("noop", `{"n":1}`, "noop", `{"content":"half of`)
	reply.End = model.EndLength
	tool := &fakeTool{name: "noop"}
	fake, j := &fakeModel{steps: []step{replies(reply), submits()}}, &judge{}
	works(t, Options{Client: fake}, j.input(t), tool)
	same(t, "ran", []string{`{"n":1}`}, tool.ran)
	same(t, "the cut call", model.Result{
		ID: "c1", Failed: true,
		Text: "the input is not valid JSON: unexpected end of JSON input; your reply was cut off because it was too long, " +
			"so write less in one call",
	}, lastResults(fake.asked[1])[1])
}

func TestOddResults(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "(no output)"},
		{"blanks", " \n", "(no output)"},
		{"not UTF-8", "a\xff\xfeb\x00c", "a\uFFFDb\uFFFDc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool := &fakeTool{name: "odd", run: func(context.Context, json.RawMessage) tools.Output {
				return tools.Output{Text: c.text}
			}}
			fake, j := &fakeModel{steps: []step{calls("odd", `{}`), submits()}}, &judge{}
			works(t, Options{Client: fake}, j.input(t), tool)
			same(t, "result", []model.Result{{ID: "c0", Text: c.want}}, lastResults(fake.asked[1]))
		})
	}
	t.Run("without bound", func(t *testing.T) {
		tool := &fakeTool{name: "odd", run: func(context.Context, json.RawMessage) tools.Output {
			return tools.Output{Text: strings.Repeat("é", 2<<20)}
		}}
		fake, j := &fakeModel{steps: []step{calls("odd", `{}`), submits()}}, &judge{}
		works(t, Options{Client: fake}, j.input(t), tool)
		if n := len(lastResults(fake.asked[1])[0].Text); n > maxResultBytes+100 {
			t.Errorf("the result has %d bytes", n)
		}
	})
}

func TestWithoutALoop(t *testing.T) {
	fake, j := &fakeModel{steps: []step{submits()}}, &judge{}
	in := j.input(t)
	in.Turn, in.Submit, in.Folder = nil, nil, ""
	got := works(t, Options{Client: fake}, in)
	same(t, "end", ralph.EndOK, got.End)
	same(t, "turns", 1, *got.Steps)
}

func TestAWorkspaceThatIsNotThere(t *testing.T) {
	j := &judge{}
	in := j.input(t)
	in.Dir = filepath.Join(in.Dir, "none")
	got := works(t, Options{Client: &fakeModel{steps: []step{submits()}}}, in)
	if got.End != ralph.EndFailed || !contains(got.Error, "cannot open the workspace") {
		t.Errorf("ended with %s: %s", got.End, got.Error)
	}
}
