package goal_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/goal"
	"github.com/ralphloop/ralph/judge"
)

// The tables of the document that describes the middleware, one test per row.

func TestHooks(t *testing.T) {
	t.Run("beforeAgent: active state is preserved across turns", func(t *testing.T) {
		s := begin(t, nil)
		s.shells(verifier)
		s.answers("Not yet.")
		before := s.State
		s.beforeAgent()
		s.human(task)
		s.messages = nil // another process that stored only the state
		s.beforeAgent()
		if diff := cmp.Diff(before, s.State); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("beforeAgent: unless the user starts a new objective", func(t *testing.T) {
		s := begin(t, nil)
		s.shells("echo right > answer.txt")
		s.shells(verifier)
		s.answers("Not yet.")
		first := s.RunID
		s.human("Write another answer.")
		want := goal.State{
			Status: judge.GoalActive, RunID: s.RunID, OriginalTaskText: "Write another answer.",
			OriginalHumanContent: goal.Text("Write another answer."),
		}
		if diff := cmp.Diff(want, s.State); diff != "" || s.RunID == first {
			t.Error("the run was not started afresh", diff)
		}
	})
	t.Run("beforeAgent: or the previous run reached a terminal status", func(t *testing.T) {
		s := begin(t, nil)
		s.answers("<promise>BLOCKED: no network</promise>")
		first := s.RunID
		s.human(task)
		if s.Status != judge.GoalActive || s.RunID == first || s.StopReason != "" {
			t.Errorf("the run was not started afresh: %+v", s.State)
		}
	})
	t.Run("wrapModelCall: appends the verifier-first completion rule to the system message", func(t *testing.T) {
		s := begin(t, nil)
		once := s.sends("You are a coder.").System
		if !strings.HasPrefix(once, "You are a coder.\n\nRalph Loop completion rule:") || !strings.Contains(once, verifier) {
			t.Errorf("no rule: %s", once)
		}
		if again := s.sends(once).System; again != once {
			t.Errorf("the rule was added twice: %s", again)
		}
	})
	t.Run("wrapModelCall: during retries, a compact continuation prompt instead of the full history", func(t *testing.T) {
		s := begin(t, nil)
		s.shells("echo noise")
		history := s.messages
		answer := goal.Message{Role: goal.Assistant, Parts: goal.Text("Done." + done)}
		s.answers("Done." + done)
		replaced := s.sends("").Messages
		s.messages = append(history, answer) // a loop that keeps its history
		kept := s.sends("").Messages
		if diff := cmp.Diff(kept, replaced); diff != "" || len(kept) != 1 || kept[0].Text() != s.Continuation {
			t.Errorf("not just the continuation: %+v %s", kept, diff)
		}
		s.messages = []goal.Message{{Role: goal.User, Parts: goal.Text(task)}} // another process that stored nothing else
		if again := s.sends("").Messages; len(again) != 1 || again[0].Text() != s.Continuation {
			t.Errorf("the objective is sent twice: %+v", again)
		}
		s.messages = append(kept, goal.Message{Role: goal.User, Parts: goal.Text("Mind the gap.")})
		if steered := s.sends("").Messages; len(steered) != 2 || steered[1].Text() != "Mind the gap." {
			t.Errorf("what a person adds is lost: %+v", steered)
		}
		s.messages = kept
		s.shells("echo more")
		if later := s.sends("").Messages; len(later) != 3 || later[0].Text() != s.Continuation {
			t.Errorf("not the continuation and what came after it: %+v", later)
		}
	})
	t.Run("afterModel: extracts verifier evidence", func(t *testing.T) {
		s := begin(t, nil)
		s.shells(verifier)
		s.answers("Not yet.")
		if s.LastVerifier == nil || s.LastVerifier.Status != "fail" || s.LastVerifier.Verifier != verifier {
			t.Errorf("evidence: %+v", s.LastVerifier)
		}
	})
	t.Run("afterModel: checks the completion marker", func(t *testing.T) {
		s := begin(t, nil)
		s.shells("echo right > answer.txt")
		s.shells(verifier)
		s.refused(s.answers("All done."), judge.GoalUnclaimed)
		s.refused(s.answers("I print `the tag <promise>DONE</promise>` later."), judge.GoalUnclaimed)
		s.completed(s.answers("Right.\n< PROMISE >\n\n<PROMISE> done </Promise>")) // only the second one is a tag
	})
	t.Run("afterModel: gates completion on verifier status, and continues the loop", func(t *testing.T) {
		s := begin(t, nil)
		s.refused(s.answers("Done."+done), judge.GoalMissing)
		s.shells(verifier)
		s.refused(s.answers("Done."+done), judge.GoalFailed)
	})
	t.Run("afterModel: accepts completion", func(t *testing.T) {
		s := begin(t, nil)
		s.shells("echo right > answer.txt")
		s.shells(verifier)
		d := s.answers("It is right." + done)
		s.completed(d)
		if d.Answer != "It is right." {
			t.Errorf("answer: %q", d.Answer)
		}
	})
	t.Run("afterModel: stops at the iteration budget", func(t *testing.T) {
		s := begin(t, func(c *goal.Config) { c.MaxIterations = 2 })
		s.answers("Part one.")
		s.answers("Part two.")
		s.expect(s.answers("Part three."), goal.Finish, judge.GoalExhausted, judge.GoalMaxIterations)
	})
}

func TestContinuationPrompt(t *testing.T) {
	s := begin(t, func(c *goal.Config) { c.MaxIterations, c.VerifierInstructions = 7, "Look at answer.txt as well." })
	s.shells(verifier + " 2>&1")
	s.answers("I believe that it is right." + done)
	for row, want := range map[string]string{
		"original objective":         "# Objective\n" + task,
		"current iteration":          "continuation 1 of 7 (run " + s.RunID + ")",
		"compact runtime summary":    "I believe that it is right.",
		"last verifier evidence":     " 2>&1`: fail, observed 2026-11-17T12:00:00Z\n    grep: answer.txt",
		"continuation reason":        "failed_evidence: " + verifier + " failed.",
		"expected next behavior":     "Find the cause of the failure and fix it. Then verify again. Plan -> Act -> Verify",
		"additional instructions":    "# How to verify\nLook at answer.txt as well.",
		"the marker, only as advice": "Write <promise>DONE</promise> on a line of its own only when",
	} {
		t.Run(row, func(t *testing.T) {
			if !strings.Contains(s.Continuation, want) {
				t.Errorf("no %q in:\n%s", want, s.Continuation)
			}
		})
	}
	if strings.Contains(s.RuntimeSummary, "promise>") {
		t.Errorf("the summary has the marker: %s", s.RuntimeSummary)
	}
}

func TestRuntimeState(t *testing.T) {
	stored := func(t *testing.T, s *session, field string) any {
		t.Helper()
		text, err := json.Marshal(s.State)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		return fields[field]
	}
	parts := goal.Content{
		{Type: goal.TextPart, Text: "Make it look like this."},
		{Type: goal.ImagePart, Raw: json.RawMessage(`{"data":"aGk="}`)},
	}
	s := begin(t, nil)
	s.shells(verifier)
	s.answers("Not yet." + done)
	for field, want := range map[string]any{
		"ralphLoopIteration":            1.0,
		"ralphLoopOriginalHumanContent": task,
		"ralphLoopOriginalTaskText":     task,
		"ralphLoopStatus":               "active",
		"ralphLoopRunId":                s.RunID,
		"ralphLoopRuntimeSummary":       "Your answer 1, refused for failed_evidence:\nNot yet.",
		"ralphLoopStopReason":           "failed_evidence",
		"ralphLoopLastVerifier": map[string]any{
			"toolName": "Bash", "toolCallId": "call-1", "command": verifier, "status": "fail",
			"content": s.LastVerifier.Content, "observedAt": "2026-11-17T12:00:00Z",
			"verifier": verifier, "iteration": 0.0, "tree": s.LastVerifier.Tree,
		},
	} {
		t.Run(field, func(t *testing.T) {
			if diff := cmp.Diff(want, stored(t, s, field)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("ralphLoopOriginalHumanContent: structured message parts", func(t *testing.T) {
		s := begin(t, nil)
		s.messages = []goal.Message{{Role: goal.User, Parts: parts}}
		s.beforeAgent()
		s.answers("Not yet.")
		text, err := json.Marshal(s.State)
		var again goal.State
		if err != nil || json.Unmarshal(text, &again) != nil || again.OriginalTaskText != "Make it look like this." {
			t.Fatalf("%v %s", err, text)
		}
		if diff := cmp.Diff(parts, again.OriginalHumanContent); diff != "" {
			t.Error(diff)
		}
		want := []goal.Message{{Role: goal.User, Parts: goal.Content{{Type: goal.TextPart, Text: s.Continuation}, parts[1]}}}
		if diff := cmp.Diff(want, s.sends("").Messages); diff != "" {
			t.Error("the image is not behind the continuation prompt", diff)
		}
	})
	for status, end := range map[judge.GoalStatus]func(*session){
		"active":           func(s *session) { s.answers("Not yet.") },
		"blocked":          func(s *session) { s.answers("<promise>BLOCKED: no network</promise>") },
		"budget_exhausted": func(s *session) { s.answers("1"); s.answers("2") },
		"completed": func(s *session) {
			s.shells("echo right > answer.txt")
			s.shells(verifier)
			s.answers(done)
		},
	} {
		t.Run("ralphLoopStatus: "+string(status), func(t *testing.T) {
			s := begin(t, func(c *goal.Config) { c.MaxIterations = 1 })
			if end(s); stored(t, s, "ralphLoopStatus") != string(status) {
				t.Errorf("got %v", stored(t, s, "ralphLoopStatus"))
			}
		})
	}
}

func TestTroubleshooting(t *testing.T) {
	t.Run("The final answer shows no marker", func(t *testing.T) {
		s := begin(t, nil)
		s.shells("echo right > answer.txt")
		s.shells(verifier)
		s.completed(s.answers("Right. **<promise>DONE</promise>**\n`<promise> done: all of it, a < b </promise>`"))
	})
	t.Run("The model says it is done but keeps looping", func(t *testing.T) {
		s := begin(t, nil)
		s.shells("ls")
		s.refused(s.answers("Done."+done), judge.GoalMissing)
		s.shells("ls")
		s.refused(s.answers("Done."+done), judge.GoalMissing)
	})
	t.Run("Verifier output failed", func(t *testing.T) {
		s := begin(t, nil)
		s.shells("echo wrong > answer.txt", "sh -c 'echo trace; exit 3'")
		s.shells(verifier + " || exit 9") // this line could hide the exit status
		s.refused(s.answers("Done."+done), judge.GoalMissing)
		s.shells(verifier)
		s.refused(s.answers("Done."+done), judge.GoalFailed)
		s.shells("echo right > answer.txt")
		s.shells(verifier)
		s.completed(s.answers("Now it is." + done))
	})
	t.Run("No verifier is detected", func(t *testing.T) {
		s := begin(t, func(c *goal.Config) { c.VerifierToolNames = []string{"my_shell"} })
		s.shells("echo right > answer.txt")
		s.shells(verifier) // by the tool Bash, which is not listed
		d := s.answers("Done." + done)
		s.refused(d, judge.GoalMissing)
		if d.Detail != "not run yet: "+verifier {
			t.Errorf("detail: %s", d.Detail)
		}
	})
	t.Run("The agent stops with a budget notice", func(t *testing.T) {
		s := begin(t, func(c *goal.Config) { c.MaxIterations = 1 })
		s.shells("echo wrong > answer.txt")
		s.answers("Done." + done)
		s.shells(verifier)
		d := s.answers("Done." + done)
		s.expect(d, goal.Finish, judge.GoalExhausted, judge.GoalMaxIterations)
		want := "Done.\n\nRalph Loop stopped after 1 continuation, which is the limit. The goal is not proven: " + verifier +
			" failed.\nLast evidence: Bash `" + verifier + "`: fail, observed 2026-11-17T12:00:00Z, no output"
		if diff := cmp.Diff(want, d.Answer); diff != "" {
			t.Error(diff)
		}
	})
}
