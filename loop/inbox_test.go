package loop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/promise"
)

// memoryInbox is an inbox in memory.
type memoryInbox struct {
	mu      sync.Mutex
	letters []ralph.Message
	ids     int
	closed  error // it cannot be read
	jammed  error // messages cannot be acknowledged
}

func (p *memoryInbox) Poll() (ralph.Orders, error) { return ralph.Orders{}, nil }

func (p *memoryInbox) Messages() ([]ralph.Message, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.letters), p.closed
}

func (p *memoryInbox) Ack(id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jammed == nil {
		p.letters = slices.DeleteFunc(p.letters, func(l ralph.Message) bool { return l.ID == id })
	}
	return p.jammed
}

// write adds a message.
func (p *memoryInbox) write(kind ralph.MessageKind, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids++
	message := ralph.Message{ID: "letter " + string(rune('0'+p.ids)), Kind: kind, Text: text}
	if kind == ralph.MessageAnswer {
		message.Question = "a or b?"
	}
	p.letters = append(p.letters, message)
}

// posted is a world in a folder of its own to which people can write.
func posted(t *testing.T, turns ...turn) (*world, *memoryInbox) {
	w, box := newWorld(t, turns...), &memoryInbox{}
	w.cfg.Dir = t.TempDir()
	w.policy.MaxIterations = len(turns)
	w.options = append(w.options, WithInbox(box))
	return w, box
}

func (w *world) writeFile(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.cfg.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) readFile(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.cfg.Dir, filepath.FromSlash(name)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return string(text)
}

const steeringFile = ".ralph/STEERING.md"

func delivered(text, message string) ralph.SteeringSeen {
	return ralph.SteeringSeen{State: ralph.SteeringDelivered, File: steeringFile, Text: text, Message: message}
}

func struckOff(text string) ralph.SteeringSeen {
	return ralph.SteeringSeen{State: ralph.SteeringRemoved, File: steeringFile, Text: text}
}

func TestSteeringIsToldOnceAndStruckOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, box := posted(t)
		w.agent.turns = []turn{
			nothing().then(func() { box.write(ralph.MessageSteer, "keep the API") }), nothing(),
			nothing().then(func() { w.writeFile(steeringFile, "- keep the API\n") }), nothing(),
		}
		w.policy.MaxIterations = 4
		w.writeFile(steeringFile, "# Steering\n\n- use tabs\n")
		inputs := w.prompted()
		w.ends(ralph.MaxIterations, 4)
		type said struct {
			Iteration int
			ralph.SteeringSeen
		}
		var events []said
		for _, e := range w.log.events {
			if data, ok := e.Data.(ralph.SteeringSeen); ok {
				events = append(events, said{e.Iteration, data})
			}
		}
		same(
			t,
			"steering",
			[]said{{1, delivered("use tabs", "")}, {2, delivered("keep the API", "letter 1")}, {4, struckOff("use tabs")}},
			events,
		)
		tabs, api := delivered("use tabs", ""), delivered("keep the API", "letter 1")
		for i, want := range [][]ralph.SteeringSeen{{tabs}, {tabs, api}, {tabs, api}, {api}} {
			same(t, "what the prompt is built from", want, (*inputs)[i].Steering)
		}
		same(t, "letters", nil, box.letters)
		order := w.log.types()
		if slices.Index(order, ralph.EvSteering) > slices.Index(order, ralph.EvIterationStarted) {
			t.Errorf("steering is told after the iteration began: %v", order)
		}
	})
}

func TestALetterIsDeliveredOnce(t *testing.T) {
	bubble(t, "though it cannot be taken away", func(t *testing.T) {
		w, box := posted(t, nothing(), nothing())
		box.write(ralph.MessageSteer, "use tabs")
		box.write(ralph.MessageAnswer, "b")
		box.jammed = errors.New("permission denied")
		w.ends(ralph.MaxIterations, 2)
		same(t, "steering", []ralph.SteeringSeen{delivered("use tabs", "letter 1")}, payloads[ralph.SteeringSeen](w.log))
		same(
			t,
			"answers",
			[]ralph.AnswerGiven{{Question: "a or b?", Answer: "b", Message: "letter 2"}},
			payloads[ralph.AnswerGiven](w.log),
		)
		same(t, "the file", "- use tabs\n", w.readFile(steeringFile))
		same(
			t,
			"the first warning",
			ralph.Notice{Code: "letters_unreadable", Text: "permission denied"},
			payloads[ralph.Notice](w.log)[0],
		)
	})
	for name, kind := range map[string]ralph.EventType{
		"though the process died before it was taken":    ralph.EvSteering,
		"though the process died before it was recorded": ralph.EvCheckFinished,
	} {
		bubble(t, name, func(t *testing.T) {
			w, box := posted(t, nothing(), nothing())
			box.write(ralph.MessageSteer, "use tabs")
			w.ends(ralph.MaxIterations, 2)
			again, box := posted(t, nothing())
			again.cfg.Dir, again.policy.MaxIterations = w.cfg.Dir, 3
			box.write(ralph.MessageSteer, "use tabs")
			past := w.log.events[:slices.Index(w.log.types(), kind)+1]
			state := refold(t, past)
			again.options = append(again.options, WithState(&state))
			again.ends(ralph.MaxIterations, 3)
			log := &memoryLog{events: slices.Concat(past, again.log.events)}
			same(t, "steering", []ralph.SteeringSeen{delivered("use tabs", "letter 1")}, payloads[ralph.SteeringSeen](log))
			same(t, "the file", "- use tabs\n", w.readFile(steeringFile))
			same(t, "letters", nil, box.letters)
		})
	}
	bubble(t, "a box that cannot be read stops nobody", func(t *testing.T) {
		w, box := posted(t, nothing())
		box.closed = errors.New("eio")
		w.ends(ralph.MaxIterations, 1)
		same(t, "warnings", []ralph.Notice{{Code: "letters_unreadable", Text: "eio"}}, payloads[ralph.Notice](w.log))
	})
}

func TestWhereSteeringIsWritten(t *testing.T) {
	for _, tt := range []struct {
		name, letter string
		before       map[string]string
		file, want   string
		items        []string
	}{
		{"no file", "use tabs", nil, steeringFile, "- use tabs\n", []string{"use tabs"}},
		{
			"the agent folder's file", "use tabs", map[string]string{".agent/STEERING.md": "- a\n"}, ".agent/STEERING.md",
			"- a\n- use tabs\n", []string{"a", "use tabs"},
		},
		{
			"both files", "use tabs", map[string]string{".agent/STEERING.md": "- a\n", steeringFile: "- b\n"}, steeringFile,
			"- b\n- use tabs\n", []string{"b", "a", "use tabs"},
		},
		{
			"an empty file", "use tabs", map[string]string{steeringFile: ""}, steeringFile, "- use tabs\n", []string{"use tabs"},
		},
		{
			"a last line without an end", "use tabs", map[string]string{steeringFile: "- b"}, steeringFile, "- b\n- use tabs\n",
			[]string{"b", "use tabs"},
		},
		{
			"it stands there already", " use tabs\n", map[string]string{steeringFile: "* use tabs\n"}, steeringFile,
			"* use tabs\n", []string{"use tabs"},
		},
		{
			"several lines", "use tabs\r\nand say so\n", nil, steeringFile, "- use tabs\n  and say so\n",
			[]string{"use tabs\n  and say so"},
		},
		{
			"several paragraphs", "use tabs\n\nand say so", nil, steeringFile, "- use tabs\n  \n  and say so\n",
			[]string{"use tabs\n  and say so"},
		},
		{"a heading", "# use tabs", nil, steeringFile, "- # use tabs\n", []string{"# use tabs"}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w, box := posted(t, nothing())
			for name, text := range tt.before {
				w.writeFile(name, text)
			}
			box.write(ralph.MessageSteer, tt.letter)
			inputs := w.prompted()
			w.ends(ralph.MaxIterations, 1)
			same(t, "the file", tt.want, w.readFile(tt.file))
			var items []string
			for _, item := range (*inputs)[0].Steering {
				items = append(items, item.Text)
			}
			slices.Sort(items)
			slices.Sort(tt.items)
			same(t, "what the prompt is built from", tt.items, items)
			same(t, "letters", nil, box.letters)
		})
	}
}

// Whatever people write, a run does not break, and reports what it could not deliver.
func TestALetterThatIsNoItemOfAList(t *testing.T) {
	for name, tt := range map[string]struct{ letter, before string }{
		"nothing":                   {" \n", ""},
		"a rule":                    {"---", ""},
		"a ticked box":              {"[x] use tabs", ""},
		"after an unclosed comment": {"use tabs", "<!-- notes\n"},
	} {
		bubble(t, name, func(t *testing.T) {
			w, box := posted(t, nothing())
			if tt.before != "" {
				w.writeFile(steeringFile, tt.before)
			}
			box.write(ralph.MessageSteer, tt.letter)
			w.ends(ralph.MaxIterations, 1)
			same(t, "warnings", []string{"letter_undelivered"}, notices(w.log))
			same(t, "steering", nil, payloads[ralph.SteeringSeen](w.log))
			same(t, "the file", tt.before, w.readFile(steeringFile))
			same(t, "letters", 1, len(box.letters))
		})
	}
}

func TestSteeringThatLeadsOutOfTheWorkspaceIsNotRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	for name, link := range map[string]string{"the file": steeringFile, "its folder": ".ralph"} {
		bubble(t, name, func(t *testing.T) {
			outside := t.TempDir()
			secret := filepath.Join(outside, "STEERING.md")
			if err := os.WriteFile(secret, []byte("- the secret\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			w, box := posted(t, nothing())
			target := outside
			if link == steeringFile {
				w.writeFile(".ralph/x", "")
				target = secret
			}
			if err := os.Symlink(target, filepath.Join(w.cfg.Dir, link)); err != nil {
				t.Fatal(err)
			}
			box.write(ralph.MessageSteer, "use tabs")
			inputs := w.prompted()
			w.ends(ralph.MaxIterations, 1)
			same(t, "what the prompt is built from", nil, (*inputs)[0].Steering)
			same(t, "learnings", "", (*inputs)[0].Learnings)
			same(t, "warnings", []string{"letter_undelivered", "steering_unreadable"}, notices(w.log))
			if text, _ := os.ReadFile(secret); string(text) != "- the secret\n" {
				t.Errorf("the file outside is now %q", text)
			}
		})
	}
}

func TestSteeringItems(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"blanks", " \n\t\n", nil},
		{"list items", "- a\n* b\n+ c\n", []string{"a", "b", "c"}},
		{"numbered", "1. a\n2) b\n10. c\n", []string{"a", "b", "c"}},
		{"a number is no list", "3 apples\n", []string{"3 apples"}},
		{"what is indented belongs to it", "- a\n  more\n\n  and more\n- b\n", []string{"a\n  more\n  and more", "b"}},
		{"items below an item belong to it", "- a\n  - a1\n  - a2\n- b\n", []string{"a\n  - a1\n  - a2", "b"}},
		{"a paragraph", "first\nsecond\n\nthird\n", []string{"first\nsecond", "third"}},
		{"a paragraph before a list", "first\n- a\n", []string{"first", "a"}},
		{"a paragraph after a list", "- a\n\nthen this\nand that\n\n- b\n", []string{"a", "then this\nand that", "b"}},
		{"a lazy line goes on with its item", "- a\nmore of a\n", []string{"a\nmore of a"}},
		{"headings and rules", "# Steering\n- a\n---\n## More\n***\n- b\n===\n", []string{"a", "b"}},
		{"boxes", "- [ ] a\n* [ ] b\n- [x] c\n- [X] d\n", []string{"a", "b"}},
		{"a comment", "<!-- how to use this -->\n- a\n", []string{"a"}},
		{"a comment of several lines", "<!--\n- not this\n-->\n- a\n", []string{"a"}},
		{"a comment that is not closed", "- a\n<!-- and\n- not this\n", []string{"a"}},
		{"CRLF", "# S\r\n\r\n- a\r\n  more\r\n- b\r\n", []string{"a\n  more", "b"}},
		{"no end of line", "- a", []string{"a"}},
		{"a bare mark", "-\n- a\n", []string{"a"}},
		{"the same twice", "- a\n- a\n", []string{"a", "a"}},
	} {
		t.Run(tt.name, func(t *testing.T) { same(t, "items", tt.want, steeringItems(tt.text)) })
	}
}

// What people write is not the agent's progress.
func TestSteeringIsNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, box := posted(t)
		box.write(ralph.MessageSteer, "begin with the parser") // before the run
		w.agent.turns = []turn{nothing().then(func() { box.write(ralph.MessageSteer, "use tabs") }), nothing()}
		w.policy.MaxIterations = 2
		w.options = append(w.options, WithTree(treeOf(func() ralph.TreeState {
			return ralph.TreeState{Known: true, Hash: w.readFile(steeringFile)}
		})))
		w.ends(ralph.MaxIterations, 2)
		for _, v := range payloads[ralph.VerdictReached](w.log) {
			if v.Verdict.Progress {
				t.Errorf("progress: %+v", v.Verdict)
			}
		}
	})
}

func TestAnswersStayInThePrompt(t *testing.T) {
	bubble(t, "of an earlier run's question", func(t *testing.T) {
		w, box := posted(t, nothing(), nothing(), nothing())
		w.options = append(w.options, WithQuestion("a or b?", nil))
		time.AfterFunc(time.Second, func() { box.write(ralph.MessageAnswer, "b") })
		inputs := w.prompted()
		w.ends(ralph.MaxIterations, 3)
		given := []ralph.AnswerGiven{{Question: "a or b?", Answer: "b", Message: "letter 1"}}
		for i, want := range []ralph.PromptInput{{OpenQuestion: "a or b?"}, {Answers: given}, {Answers: given}} {
			in := (*inputs)[i]
			same(t, "what the prompt is built from", want, ralph.PromptInput{OpenQuestion: in.OpenQuestion, Answers: in.Answers})
		}
		same(t, "answers in the state", given, w.loop.State().Answers)
		state := refold(t, w.log.events)
		same(t, "answers after a resume", given, state.Answers)
	})
	t.Run("the newest of them", func(t *testing.T) {
		var s fold.State
		var want []ralph.AnswerGiven
		for i := range 60 {
			answer := ralph.AnswerGiven{Question: "q", Answer: strings.Repeat("x", i), Message: string(rune('A' + i))}
			if err := s.Apply(ralph.Event{
				Version: ralph.EventVersion, Seq: int64(i + 1), Type: ralph.EvAnswer, Data: answer,
			}); err != nil {
				t.Fatal(err)
			}
			want = append(want, answer)
		}
		same(t, "answers", want[50:], s.Answers)
		same(t, "letters", 50, len(s.Messages))
	})
}

func TestARunThatWaitsForAnAnswer(t *testing.T) {
	asks := func() turn { return says(promise.Report{Decide: new("a or b?")}) }
	waiting := []ralph.Waiting{{For: ralph.WaitAnswer, Elapsed: ralph.Span(worked), Detail: "a or b?"}}
	waits := func(t *testing.T, turns ...turn) (*world, *memoryInbox) {
		w, box := posted(t, turns...)
		w.policy.OnDecide, w.policy.MaxIterations = ralph.DecideWait, 5
		return w, box
	}
	bubble(t, "goes on when it is answered", func(t *testing.T) {
		w, box := waits(t, asks(), done())
		w.checker.results = []ralph.CheckResult{isRed, isRed, isGreen}
		time.AfterFunc(18*time.Minute, func() { box.write(ralph.MessageAnswer, "b") })
		inputs := w.prompted()
		var during []ralph.Status
		w.log.onAppend = func(e ralph.Event) {
			if e.Type == ralph.EvLimitWait {
				time.AfterFunc(6*time.Minute, func() { during = append(during, w.loop.State().LiveStatus()) })
			}
		}
		result := w.ends(ralph.AllChecksPassed, 2)
		same(t, "waits", waiting, payloads[ralph.Waiting](w.log))
		same(t, "status in the wait", []ralph.Status{ralph.StatusWaiting}, during)
		same(
			t,
			"what the prompt is built from",
			[]ralph.AnswerGiven{{Question: "a or b?", Answer: "b", Message: "letter 1"}},
			(*inputs)[1].Answers,
		)
		same(t, "open question", "", (*inputs)[1].OpenQuestion)
		if spent := ralph.Span(18*time.Minute + worked); result.TotalDuration < spent ||
			result.TotalDuration > spent+ralph.Span(time.Second) {
			t.Errorf("it took %s, want %s: a wait counts as time", result.TotalDuration, spent)
		}
	})
	bubble(t, "is not woken by steering", func(t *testing.T) {
		w, box := waits(t, asks(), says(promise.Report{Blocked: new("x")}))
		time.AfterFunc(time.Minute, func() { box.write(ralph.MessageSteer, "use tabs") })
		time.AfterFunc(6*time.Minute, func() { box.write(ralph.MessageAnswer, "b") })
		w.ends(ralph.Blocked, 2)
		same(t, "time between agents", []time.Duration{6*time.Minute - worked}, roundedGaps(w))
	})
	bubble(t, "is not woken by an answer that it has had before", func(t *testing.T) {
		w, box := waits(t, nothing(), asks(), says(promise.Report{Blocked: new("x")}))
		box.write(ralph.MessageAnswer, "of old")
		box.jammed = errors.New("permission denied")
		time.AfterFunc(6*time.Minute, func() { box.write(ralph.MessageAnswer, "b") })
		w.ends(ralph.Blocked, 3)
		same(t, "time between agents", []time.Duration{0, 6*time.Minute - 2*worked}, roundedGaps(w))
	})
	bubble(t, "ends with 10 when its time is up", func(t *testing.T) {
		w, _ := waits(t, asks())
		w.policy.MaxTime = ralph.Span(6 * time.Minute)
		result := w.ends(ralph.Timeout, 1)
		if result.ExitCode != 10 || result.TotalDuration < ralph.Span(6*time.Minute) ||
			result.TotalDuration > ralph.Span(6*time.Minute+time.Second) {
			t.Errorf("exit %d after %s", result.ExitCode, result.TotalDuration)
		}
	})
	bubble(t, "ends with 130 when it is stopped", func(t *testing.T) {
		w, _ := waits(t, asks())
		w.stopAfter(time.Minute, ralph.SignalStop)
		if result := w.ends(ralph.Interrupted, 1); result.ExitCode != 130 || result.Summary != "ended by ralph stop" {
			t.Errorf("exit %d: %s", result.ExitCode, result.Summary)
		}
	})
	bubble(t, "ends with 143 when it is killed", func(t *testing.T) {
		w, _ := waits(t, asks())
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(ralph.Killed{Signal: ralph.SignalTerminate}) })
		result := w.run(ctx)
		w.ended(result, ralph.Interrupted, 1)
		same(t, "exit code", 143, result.ExitCode)
	})
	bubble(t, "a question that is not waited for ends it with 3", func(t *testing.T) {
		w, _ := waits(t, asks())
		w.policy.OnDecide = ralph.DecideStop
		if result := w.ends(ralph.NeedsDecision, 1); result.ExitCode != 3 || result.Question != "a or b?" {
			t.Errorf("exit %d: %q", result.ExitCode, result.Question)
		}
	})
	bubble(t, "a question that nobody could answer ends it with 3", func(t *testing.T) {
		w := newWorld(t, asks())
		w.policy.OnDecide = ralph.DecideWait
		w.ends(ralph.NeedsDecision, 1)
	})
	bubble(t, "what it has waited outlives a kill -9", func(t *testing.T) {
		w, box := waits(t, asks(), says(promise.Report{Blocked: new("x")}))
		time.AfterFunc(6*time.Minute, func() { box.write(ralph.MessageAnswer, "b") })
		w.ends(ralph.Blocked, 2)
		answered := slices.Index(w.log.types(), ralph.EvAnswer)
		state := refold(t, w.log.events[:answered-2])
		if state.Elapsed < ralph.Span(5*time.Minute) {
			t.Errorf("a process that died after a wait of six minutes has spent %s", state.Elapsed)
		}
	})
}

func roundedGaps(w *world) []time.Duration {
	gaps := w.agent.gaps()
	for i := range gaps {
		gaps[i] = gaps[i].Round(time.Second / 2)
	}
	return gaps
}
