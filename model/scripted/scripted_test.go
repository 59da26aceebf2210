package scripted_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/scripted"
)

const script = `{
  "worker": [
    [{"thought": "Hm {{word}}.", "calls": [
        {"name": "write", "input": {"path": "{{word}}.txt", "n": 1}},
        {"name": "broken", "input": "{\"path\": {{word}}"},
        {"name": "plain"}], "fill": {"word": "word is ([^ ]+)"}},
     {"text": "Done.", "usage": {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4}}],
    [{"text": "Second.", "fault": {"kind": "limit", "retry_after": "90s", "times": 2, "status": 429,
        "message": "slowly", "usage": {"input": 5}}}],
    [{"empty": true}, {"text": "cut", "end": "length"}]
  ],
  "evaluator": [[{"text": "Fine."}]]
}`

func parse(t *testing.T, text string) scripted.Script {
	t.Helper()
	s, err := scripted.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func client(t *testing.T, role string, o scripted.Options) model.Client {
	t.Helper()
	c, err := parse(t, script).Client(role, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func user(text string) model.Message { return model.Message{Role: model.User, Text: text} }

func says(t *testing.T, c model.Client, messages ...model.Message) string {
	t.Helper()
	reply, err := c.Send(t.Context(), model.Request{Messages: messages}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return reply.Message.Text
}

func TestTurn(t *testing.T) {
	c := client(t, "worker", scripted.Options{})
	var told []model.Delta
	r := model.Request{Model: "m", Messages: []model.Message{user(`the word is a"b \o/`)}}
	got, err := c.Send(t.Context(), r, func(d model.Delta) { told = append(told, d) })
	if err != nil {
		t.Fatal(err)
	}
	want := model.Reply{Model: "m", ID: "scripted-c0t0", End: model.EndCalls, Message: model.Message{
		Role: model.Assistant, Thought: []json.RawMessage{json.RawMessage(`{"type":"thinking","thinking":"Hm a\"b."}`)},
		Calls: []model.Call{
			{ID: "scripted_c0t0i0", Name: "write", Input: json.RawMessage(`{"path": "a\"b.txt", "n": 1}`)},
			{ID: "scripted_c0t0i1", Name: "broken", Input: json.RawMessage(`{"path": a"b`)},
			{ID: "scripted_c0t0i2", Name: "plain", Input: json.RawMessage(`{}`)},
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]model.Delta{{Thought: `Hm a"b.`}, {Tool: "write"}, {Tool: "broken"}, {Tool: "plain"}},
		told); diff != "" {
		t.Error(diff)
	}
	r.Messages = append(r.Messages, got.Message)
	second, err := c.Send(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&model.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}, second.Usage); diff != "" {
		t.Error(diff)
	}
	if text := says(t, client(t, "evaluator", scripted.Options{}), user("x")); text != "Fine." {
		t.Errorf("%q", text)
	}
}

// A placeholder without a match stays unchanged.
func TestNothingToFill(t *testing.T) {
	reply, err := client(t, "worker", scripted.Options{}).Send(t.Context(), model.Request{}, nil)
	if err != nil || string(reply.Message.Calls[1].Input) != `{"path": {{word}}` {
		t.Errorf("%+v %v", reply, err)
	}
}

func TestFaultsThenTheTurn(t *testing.T) {
	c := client(t, "worker", scripted.Options{Skip: 1})
	want := &model.Fault{
		Kind: model.FaultLimit, RetryAfter: 90 * time.Second, Status: 429, Message: "slowly", Usage: &model.Usage{Input: 5},
	}
	for range 2 {
		_, err := c.Send(t.Context(), model.Request{}, nil)
		if diff := cmp.Diff(want, err); diff != "" {
			t.Error(diff)
		}
	}
	if text := says(t, c); text != "Second." {
		t.Errorf("%q", text)
	}
}

// The last conversation serves all later requests. After its last turn, it repeats that turn or
// says that there are no more.
func TestBeyondTheEnd(t *testing.T) {
	c, err := scripted.New([][]scripted.Turn{{{Calls: []scripted.Call{{Name: "a"}}}}, {{Text: "Last."}}},
		scripted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	answered := model.Message{Role: model.Assistant, Text: "x"}
	var got []string
	got = append(got, says(t, c), says(t, c, answered), says(t, c), says(t, c, answered), says(t, c, answered, answered),
		says(t, c), says(t, c))
	if diff := cmp.Diff([]string{"", "The script has no more turns.", "Last.", "Last.", "Last.", "Last.", "Last."},
		got); diff != "" {
		t.Error(diff)
	}
}

// A new process starts over unless it knows which conversations were used. An interrupted
// conversation continues either way.
func TestAfterARestart(t *testing.T) {
	first, err := client(t, "worker", scripted.Options{}).Send(t.Context(), model.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for skip, fresh := range map[int]string{0: "", 2: "", 99: ""} {
		c := client(t, "worker", scripted.Options{Skip: skip})
		if text := says(t, c, first.Message); text != "Done." {
			t.Errorf("skip %d: the conversation goes on with %q", skip, text)
		}
		reply, err := c.Send(t.Context(), model.Request{}, nil)
		if err != nil || reply.Message.Text != fresh || reply.Empty() != (skip >= 2) {
			t.Errorf("skip %d: %+v %v", skip, reply, err)
		}
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script.json")
	if _, err := scripted.Open(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := scripted.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parse(t, script), s); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Client("planner",
		scripted.Options{}); err == nil ||
		err.Error() != `the script has no conversations for "planner", only for evaluator, worker` {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte("{\n}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := scripted.Open(path); err == nil ||
		err.Error() != "read script "+path+": line 2: the script has no roles" {
		t.Errorf("%v", err)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	in := func(turn string) string { return "{\n\"worker\": [\n[{\"text\": \"x\"},\n" + turn + "\n]]}" }
	for text, want := range map[string]string{
		``:                     "line 1: the script ends unexpectedly",
		`{"worker": [[{`:       "line 1: the script ends unexpectedly",
		"{\n\"worker\": 1}":    "line 2: worker: a list of conversations must begin with [",
		"{\"worker\": [\n{}]}": "line 2: worker, conversation 1: a list of turns must begin with [",
		`[]`:                   "line 1: an object of roles must begin with {",
		`{"worker": []}`:       "line 1: worker: a list of conversations must not be empty",
		`{"worker": [[]]}`:     "line 1: worker, conversation 1: a list of turns must not be empty",
		in(`{"text": "a",` + "\n" + `"txt": "b"}`): `line 5: worker, conversation 1, turn 2: unknown field "txt"`,
		in(`{"calls": [{"name": "a",` + "\n" +
			`"args": {}}]}`): `line 5: worker, conversation 1, turn 2: unknown field "args"`,
		in(`{"text": "a",` + "\n\n" +
			`"usage": {"input": "x"}}`): "line 6: worker, conversation 1, turn 2: usage.input: expected a whole number, " +
			"got a string",
		in(`{"text": 7}`): "line 4: worker, conversation 1, turn 2: text: expected a " +
			"string, got a number",
		in(`"hello"`): "line 4: worker, conversation 1, turn 2: expected an " +
			"object, got a string",
		in(`{"calls": {"name": "a"}}`): "line 4: worker, conversation 1, turn 2: calls: expected " +
			"a list, got an object",
		in(`{"calls": ["a"]}`): "line 4: worker, conversation 1, turn 2: calls: expected " +
			"an object, got a string",
		in(`{"fill": [], "text": "a"}`): "line 4: worker, conversation 1, turn 2: fill: expected " +
			"an object, got a list",
		in(`{"empty": "yes"}`): "line 4: worker, conversation 1, turn 2: empty: expected " +
			"true or false, got a string",
		in(`{"text": "a", "usage": {"input": 1.5}}`): "line 4: worker, conversation 1, turn 2: usage.input: " +
			"expected a whole number, got number 1.5",
		in(`{"fault": {"kind": "auth", ` +
			`"retry_after": 5}}`): `line 4: worker, conversation 1, turn 2: fault.retry_after: expected a time span like ` +
			`"1.5s", got a number`,
		in(`{}`): "line 4: worker, conversation 1, turn 2: set at " +
			"least one of: text, thought, calls, empty, fault",
		in(`{"empty": true, "text": "a"}`): "line 4: worker, conversation 1, turn 2: empty: " +
			"an empty turn cannot have text, thought or calls",
		in(`{"calls": [{"input": {}}]}`): "line 4: worker, conversation 1, turn 2: call 1: " +
			"name is missing",
		in(`{"text": "a", "end": "soon"}`): `line 4: worker, conversation 1, turn 2: end "soon": ` +
			`choose one of: end_turn, tool_calls, length, refusal`,
		in(`{"text": "a", "fill": {"x": "y"}}`): `line 4: worker, conversation 1, turn 2: fill "x": ` +
			`must be a regular expression with a group`,
		in(`{"fault": {"kind": "bad"}}`): `line 4: worker, conversation 1, turn 2: fault: kind ` +
			`"bad": choose one of: ["auth" "limit" "provider" "overflow" "refused"]`,
		in(`{"fault": {"kind": "auth", "times": ` +
			`-1}}`): "line 4: worker, conversation 1, turn 2: fault: times must not be negative",
		in(`{"fault": {"kind": "auth", "retry_after": ` +
			`"soon"}}`): `line 4: worker, conversation 1, turn 2: invalid time span "soon" (example: "1.5s")`,
		in(`{"text": }`): "line 4: invalid character '}' looking for beginning of value",
		`{"worker": [[{"text": "a"}]], "worker": [[{"text": "a"}]]}`: `line 1: "worker" is given twice`,
		`{"worker": [[{"text": "a"}]]} {}`:                           "line 1: unexpected text after the end of the script",
	} {
		_, err := scripted.Parse([]byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestNewWantsTurns(t *testing.T) {
	for _, conversations := range [][][]scripted.Turn{nil, {{}}, {{{}}}} {
		if _, err := scripted.New(conversations, scripted.Options{}); err == nil {
			t.Errorf("%v is taken", conversations)
		}
	}
}

// A script survives being written and read again.
func FuzzParse(f *testing.F) {
	f.Add(script)
	f.Add(`{"a": [[{"fault": {"kind": "auth"}}]]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := scripted.Parse([]byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("%v", err)
			}
			return
		}
		written, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := scripted.Parse(written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		for role := range s {
			if _, ok := again[role]; !ok {
				t.Errorf("%q is lost", role)
			}
			c, err := s.Client(role, scripted.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Send(t.Context(), model.Request{}, func(model.Delta) {}); err != nil {
				if _, ok := errors.AsType[*model.Fault](err); !ok {
					t.Error(err)
				}
			}
		}
	})
}
