package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/process"
)

// TestReadOnlyCommandLines: neither the checks nor the user's settings may let a reviewer do more.
func TestReadOnlyCommandLines(t *testing.T) {
	for _, d := range Known() {
		for name, inherit := range map[string]bool{"alone": false, "inherited": true} {
			t.Run(d.Name()+"/"+name, func(t *testing.T) {
				request := Request{
					PromptFile: "/f/prompt.md", Folder: "/f", Dir: "/w", Model: "m", Permissions: PermitReading,
					AllowedCommands: []string{"go test ./..."}, InheritSettings: inherit,
				}
				if d.About().Program == "" {
					request.CommandLine = "my-agent"
				}
				got, err := d.Command(request)
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.MarshalIndent(got, "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata", "readonly", d.Name()+"-"+name+".json"), string(text)+"\n")
				if d.Name() != "command" && strings.Contains(string(text), "go test") {
					t.Error("a reviewer may run a check")
				}
			})
		}
	}
}

func TestEveryDialectSaysWhatItMayReadOnly(t *testing.T) {
	for _, d := range Known() {
		if d.About().ReadMode == "" {
			t.Errorf("%s does not say it", d.Name())
		}
	}
}

// TestAnswersAreKeptOfReadersOnly: the samples end with a message that makes a promise, and have
// others before it.
func TestAnswersAreKeptOfReadersOnly(t *testing.T) {
	for name, sample := range samples {
		d, _ := Find(name)
		answers := map[Permissions]bool{}
		for _, p := range []Permissions{PermitEdits, PermitAll, PermitReading} {
			got := listenAs(d, p, sample)
			answers[p] = got.Answer != ""
			if p == PermitReading && (!strings.Contains(got.Answer, "<promise>") || !got.Said.Complete) {
				t.Errorf("%s answers %q", name, got.Answer)
			}
		}
		want := map[Permissions]bool{PermitEdits: false, PermitAll: false, PermitReading: true}
		if diff := cmp.Diff(want, answers); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func listenAs(d Dialect, p Permissions, text string) ralph.AgentOutcome {
	c := New(Options{Dialect: d, Permissions: p})
	in := ralph.AgentInput{Live: func(ralph.Activity) {}}
	r := c.newReading(in)
	reader := d.newReader(r)
	r.Hear(in)
	_, _ = reader.Write([]byte(text))
	reader.Close()
	return c.outcome(r, exited(0))
}

func TestNothingIsAdvisedToReaders(t *testing.T) {
	got := map[Permissions][]string{}
	for _, p := range []Permissions{PermitEdits, PermitReading} {
		r := &stream.Reading{Live: func(ralph.Activity) {}, ReadOnly: p == PermitReading}
		r.Denied("Bash", "make", "--yolo")
		got[p] = append(append([]string{}, r.Denials...), r.Allow...)
	}
	want := map[Permissions][]string{PermitEdits: {"Bash: make", "--yolo"}, PermitReading: {"Bash: make"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEnter: Enter sees what is about to be started, and may change it.
func TestEnter(t *testing.T) {
	s := newStage(t, "codex", samples["codex"], "0")
	elsewhere, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	entered := 0
	s.options.Enter = func(spec *process.Spec) {
		entered++
		if spec.Dir != s.input.Dir || spec.Marker != "mark" || spec.Stdout.Tap == nil {
			t.Errorf("about to start %+v", spec)
		}
		spec.Dir = elsewhere
	}
	got := s.run(t.Context(), t)
	if got.End != ralph.EndOK || entered != 1 {
		t.Errorf("entered %d times, %+v", entered, got)
	}
	text, err := os.ReadFile(s.seen)
	if err != nil {
		t.Fatal(err)
	}
	var saw seen
	if err := json.Unmarshal(text, &saw); err != nil || saw.Dir != elsewhere {
		t.Errorf("the agent ran in %q, not in %q (%v)", saw.Dir, elsewhere, err)
	}
}
