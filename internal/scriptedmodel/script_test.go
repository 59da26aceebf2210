package scriptedmodel_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

func TestParseWhole(t *testing.T) {
	got := parse(t, `{"a": {"about": "all", "side": "x", "conversations": [[{
		"thinking": "t", "text": "u", "tools": [{"write": {"path": "p", "text": "q"}}],
		"stop": "length", "pace": "1.5s", "fill": {"w": "(x)"},
		"usage": {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "reasoning": 5},
		"faults": [{"do": "status", "status": 429, "times": 2, "type": "k", "message": "m",
			"headers": {"h": "v"}, "retry_after": "2s", "reset_in": "1h"}]
	}]]}}`)
	want := scriptedmodel.Script{"a": {About: "all", Side: "x", Conversations: [][]scriptedmodel.Turn{{{
		Thinking: "t", Text: "u", Tools: []scriptedmodel.ToolCall{{Write: &scriptedmodel.FileWrite{Path: "p", Text: "q"}}},
		Stop: "length", Pace: 1_500_000_000, Fill: map[string]string{"w": "(x)"},
		Usage: &scriptedmodel.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5},
		Faults: []scriptedmodel.Fault{{
			Do: "status", Status: 429, Times: 2, Type: "k", Message: "m", Headers: map[string]string{"h": "v"},
			RetryAfter: 2_000_000_000, ResetIn: 3_600_000_000_000,
		}},
	}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseErrors(t *testing.T) {
	turn := func(inside string) string { return `{"a": {"conversations": [[{` + inside + `}]]}}` }
	for _, test := range []struct{ script, want string }{
		{``, `read script: line 1: the script ends unexpectedly`},
		{"{\n\"a\": {", `read script: line 2: the script ends unexpectedly`},
		{"{\n\"a\": oops}", `read script: line 2: invalid character 'o' looking for beginning of value`},
		{`[]`, `read script: line 1: cannot unmarshal array into Go value of type scriptedmodel.Script`},
		{`{}`, `read script: the script has no scenarios`},
		{`{"a": {}}`, `read script: scenario "a": there are no conversations`},
		{`{"a": {"conversations": [[]]}}`, `read script: scenario "a": conversation 1 has no turns`},
		{"{\"a\": {\n\n\"turns\": []}}", `read script: line 3: unknown field "turns"`},
		{turn(`"text": "x"`) + ` {}`, `read script: line 1: unexpected text after the end of the script`},
		{`{"v1": {"conversations": [[{"text": "x"}]]}}`,
			`read script: scenario "v1": a name may have letters, digits, dots, dashes and underscores, and must not ` +
				`begin with v1`},
		{`{"a/b": {"conversations": [[{"text": "x"}]]}}`,
			`read script: scenario "a/b": a name may have letters, digits, dots, dashes and underscores, and must not ` +
				`begin with v1`},
		{turn(``), `read script: scenario "a": conversation 1: turn 1: set at least one of: text, tools, thinking, empty`},
		{turn(`"faults": [{"do": "cut"}]`),
			`read script: scenario "a": conversation 1: turn 1: set at least one of: text, tools, thinking, empty`},
		{turn(`"text": "x", "empty": true`),
			`read script: scenario "a": conversation 1: turn 1: an empty turn cannot have text, tools or thinking`},
		{turn(`"text": "x", "stop": "bored"`),
			`read script: scenario "a": conversation 1: turn 1: stop "bored": choose one of: length, refusal`},
		{turn(`"text": "x", "pace": "soon"`), `read script: line 1: invalid time span "soon" (example: "1.5s")`},
		{turn(`"text": "x", "pace": "-1s"`), `read script: line 1: invalid time span "-1s" (example: "1.5s")`},
		{turn(`"text": "x", "fill": {"a": "("}`),
			`read script: scenario "a": conversation 1: turn 1: fill "a": must be a regular expression with a group`},
		{turn(`"text": "x", "fill": {"a": "x"}`),
			`read script: scenario "a": conversation 1: turn 1: fill "a": must be a regular expression with a group`},
		{turn(`"tools": [{}]`),
			`read script: scenario "a": conversation 1: turn 1: tool 1: choose exactly one of: shell, write, name`},
		{turn(`"tools": [{"shell": "x", "name": "y"}]`),
			`read script: scenario "a": conversation 1: turn 1: tool 1: choose exactly one of: shell, write, name`},
		{turn(`"tools": [{"shell": "x", "input": {}}]`),
			`read script: scenario "a": conversation 1: turn 1: tool 1: input needs a name`},
		{turn(`"tools": [{"write": {"text": "y"}}]`),
			`read script: scenario "a": conversation 1: turn 1: tool 1: write: path is missing`},
		{turn(`"tools": [{"shell": "x", "raw": "{"}]`),
			`read script: scenario "a": conversation 1: turn 1: tool 1: input needs a name`},
		{turn(`"tools": [{"name": "x", "input": {}, "raw": "{"}]`),
			`read script: scenario "a": conversation 1: turn 1: tool 1: raw cannot be combined with input`},
		{turn(`"text": "x", "unmetered": true, "usage": {}`),
			`read script: scenario "a": conversation 1: turn 1: usage cannot be combined with unmetered`},
		{turn(`"text": "x", "faults": [{"do": "status", "status": 429, "retry_after": "1s", "retry_date": "1s"}]`),
			`read script: scenario "a": conversation 1: turn 1: fault 1: retry_date cannot be combined with retry_after`},
		{turn(`"text": "x", "faults": [{"do": "garble", "retry_date": "1s"}]`),
			`read script: scenario "a": conversation 1: turn 1: fault 1: garble: can be combined only with times and forever`},
		{turn(`"text": "x", "faults": [{"do": "sulk"}]`),
			`read script: scenario "a": conversation 1: turn 1: fault 1: do "sulk": choose one of: status, hang, stall, ` +
				`ping, cut, end, garble, drop, error_event`},
		{turn(`"text": "x", "faults": [{"do": "status", "status": 200}]`),
			`read script: scenario "a": conversation 1: turn 1: fault 1: status 200: must be from 400 to 599`},
		{turn(`"text": "x", "faults": [{"do": "error_event", "status": 1}]`),
			`read script: scenario "a": conversation 1: turn 1: fault 1: status 1: must be from 400 to 599`},
		{turn(`"text": "x", "faults": [{"do": "hang", "status": 500}]`),
			`read script: scenario "a": conversation 1: turn 1: fault 1: hang: can be combined only with times and forever`},
		{turn(`"text": "x", "faults": [{"do": "hang", "times": -1}]`),
			`read script: scenario "a": conversation 1: turn 1: fault 1: times must not be negative, and cannot be ` +
				`combined with forever`},
		{turn(`"text": "x", "faults": [{"do": "hang", "times": 1, "forever": true}]`),
			`read script: scenario "a": conversation 1: turn 1: fault 1: times must not be negative, and cannot be ` +
				`combined with forever`},
		{turn(`"text": "x", "faults": [{"do": "hang", "forever": true}, {"do": "cut"}]`),
			`read script: scenario "a": conversation 1: turn 1: fault 1: no fault can follow one that never ends`},
	} {
		_, err := scriptedmodel.Parse([]byte(test.script))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s\n got %v\nwant %s", test.script, err, test.want)
		}
	}
}

// A script survives being written and read again.
func TestStandardComesBack(t *testing.T) {
	text, err := json.Marshal(scriptedmodel.Standard())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(scriptedmodel.Standard(), parse(t, string(text))); diff != "" {
		t.Error(diff)
	}
	for name, scenario := range scriptedmodel.Standard() {
		if scenario.About == "" {
			t.Errorf("scenario %s says nothing about itself", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	standard, err := json.Marshal(scriptedmodel.Standard())
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(standard), twoAgents, everything,
		`{"a": {"conversations": [[{"faults": [{"do": "hang", "forever": true}]}]]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		script, err := scriptedmodel.Parse(text)
		if err != nil {
			return
		}
		written, err := json.Marshal(script)
		if err != nil {
			t.Fatal(err)
		}
		again, err := scriptedmodel.Parse(written)
		if err != nil {
			t.Fatalf("%s\ndoes not come back: %v", written, err)
		}
		if rewritten := jsonOf(t, again); rewritten != string(written) {
			t.Errorf("%s\ncomes back as\n%s", written, rewritten)
		}
	})
}
