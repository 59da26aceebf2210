package goal_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/goal"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/promise"
)

func TestConfigurationThatProvesNothingIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		config goal.Config
		want   string // "" if it is no error
	}{
		"nothing declared":   {goal.Config{}, "nothing can prove the goal"},
		"only a shell":       {goal.Config{VerifierToolNames: []string{"Bash"}}, "nothing can prove the goal"},
		"unverified":         {goal.Config{AllowUnverified: true}, ""},
		"a command":          {goal.Config{Verifiers: []string{"go test"}}, ""},
		"a browser":          {goal.Config{VerifierToolNames: []string{"browser"}}, ""},
		"empty command":      {goal.Config{Verifiers: []string{" "}}, "a command in Verifiers is empty"},
		"empty name":         {goal.Config{VerifierToolNames: []string{"browser", ""}}, "VerifierToolNames is empty"},
		"negative limit":     {goal.Config{Verifiers: []string{"x"}, MaxIterations: -1}, "it must be at least 1"},
		"summary too short":  {goal.Config{Verifiers: []string{"x"}, MaxRuntimeSummaryChars: 255}, "it must be at least 256"},
		"shortest summary":   {goal.Config{Verifiers: []string{"x"}, MaxRuntimeSummaryChars: 256}, ""},
		"smallest iteration": {goal.Config{Verifiers: []string{"x"}, MaxIterations: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := goal.New(test.config)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	m, err := goal.New(goal.Config{Verifiers: []string{"go test"}})
	if err != nil || m.MaxIterations != 20 || m.MaxRuntimeSummaryChars != 4000 ||
		!cmp.Equal(m.VerifierToolNames, goal.ShellTools) {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestSlashCommand(t *testing.T) {
	s := begin(t, nil)
	command := s.middleware.Meta().SlashCommands[0]
	want := goal.SlashCommand{
		Name: "goal", ArgsHint: "<objective>", Action: "insert_invocation", Template: command.Template,
	}
	if command != want || strings.Count(command.Template, "{{args}}") != 1 {
		t.Errorf("%+v", command)
	}
	s.human("/goal make it right")
	sent := s.sends("").Messages
	if last := sent[len(sent)-1]; last.Text() != strings.Replace(command.Template, "{{args}}", "make it right", 1) {
		t.Errorf("the model gets %q", last.Text())
	}
	if s.OriginalTaskText != "make it right" {
		t.Errorf("objective: %q", s.OriginalTaskText)
	}
	s.human("/goals are good")
	if s.OriginalTaskText != "/goals are good" {
		t.Errorf("objective: %q", s.OriginalTaskText)
	}
}

func TestNoObjectiveIsAnError(t *testing.T) {
	s := begin(t, nil)
	var state goal.State
	if err := s.middleware.BeforeAgent(&state, nil); err == nil || state.Status != "" {
		t.Errorf("%v, %+v", err, state)
	}
}

func TestSummaryKeepsHeadAndTailWithinItsLimit(t *testing.T) {
	s := begin(t, func(c *goal.Config) { c.MaxRuntimeSummaryChars = 300 })
	s.answers("first " + strings.Repeat("é", 5000) + " last of one")
	s.answers("second " + strings.Repeat("é", 5000) + " last of two")
	length := utf8.RuneCountInString(s.RuntimeSummary)
	if length > 300 || !strings.HasPrefix(s.RuntimeSummary, "Your answer 1, refused for no_claim:\nfirst") ||
		!strings.HasSuffix(s.RuntimeSummary, " last of two") || !strings.Contains(s.RuntimeSummary, "characters cut") {
		t.Errorf("%d characters: %s", length, s.RuntimeSummary)
	}
	head, tail, _ := strings.Cut(s.RuntimeSummary, "\n[")
	if h, all := utf8.RuneCountInString(head), utf8.RuneCountInString(head+tail); h*100/all < 25 || h*100/all > 40 {
		t.Errorf("the head has %d of %d characters", h, all)
	}
}

func TestOtherStatesPassThrough(t *testing.T) {
	s := begin(t, nil)
	s.State = goal.State{}
	if r := s.sends("You are a coder."); r.System != "You are a coder." || len(r.Messages) != 1 {
		t.Errorf("without a goal the request is %+v", r)
	}
	d, err := s.middleware.AfterModel(t.Context(), &s.State, goal.Message{Role: goal.Assistant, Parts: goal.Text("Hi.")})
	if diff := cmp.Diff(goal.Decision{Next: goal.Finish, Answer: "Hi."}, d); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// An accepted answer has no tag that any reader would take for a claim.
func FuzzAcceptedAnswerHasNoMarker(f *testing.F) {
	for _, seed := range []string{
		"It is done.\n<promise>DONE</promise>", "<PROMISE> done </promise>", "<promise>DONE: a < b</promise>",
		"<promise><promise>DONE</promise>DONE</promise>", "**<promise>COMPLETE</promise>**", "<promise>x</promise>",
		"<promise>\x1b[1mDONE\x1b[0m</promise>", "<pro<promise>DONE</promise>mise>DONE</promise>",
	} {
		f.Add(seed)
	}
	m, err := goal.New(goal.Config{AllowUnverified: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := goal.State{Status: judge.GoalActive}
		d, err := m.AfterModel(t.Context(), &s, goal.Message{Role: goal.Assistant, Parts: goal.Text(text)})
		if err != nil {
			t.Fatal(err)
		}
		said := promise.Parse(strings.ToLower(d.Answer), promise.Options{})
		if d.Next == goal.Finish && s.Status == judge.GoalCompleted && said.CompleteTag != "" {
			t.Errorf("%q: the answer is %q", text, d.Answer)
		}
	})
}

// Whatever a tool prints, it passes only by a report that it did.
func FuzzEvidenceStatus(f *testing.F) {
	for _, seed := range []string{"ok", "exit code: 0", "exit status 1", `{"exit_code": 0}`, "timeout\nExit Code: 0\n"} {
		f.Add(seed)
	}
	arguments, _ := json.Marshal(map[string]string{"command": verifier})
	m, err := goal.New(goal.Config{Verifiers: []string{verifier}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, output string) {
		s := goal.State{Status: judge.GoalActive, Pending: &goal.PendingCalls{
			Calls: []goal.ToolCall{{ID: "1", Name: "Bash", Arguments: arguments}},
		}}
		result := goal.Message{Role: goal.Tool, Results: []goal.ToolResult{{CallID: "1", Content: output}}}
		if _, err := m.WrapModelCall(t.Context(), &s, goal.Request{Messages: []goal.Message{result}}); err != nil {
			t.Fatal(err)
		}
		if s.LastVerifier.Status == "pass" && !strings.Contains(output, "0") {
			t.Errorf("%q passed", output)
		}
	})
}
