package acp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

func TestPolicy(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Skip("links want a right of their own here: ", err)
	}
	cases := []struct {
		name string
		call string
		want bool
	}{
		{"a new file", `{"kind":"edit","locations":[{"path":"` + dir + `/new/deep/a.go"}]}`, true},
		{"a relative one", `{"kind":"edit","locations":[{"path":"a.go","line":3}]}`, true},
		{
			"one that a change tells",
			`{"kind":"edit","content":[{"type":"diff","path":"` + dir + `/a.go","newText":"x"}]}`, true,
		},
		{"none told", `{"kind":"edit","title":"Edit something"}`, false},
		{"one of two outside", `{"kind":"edit","locations":[{"path":"a.go"},{"path":"` + outside + `/a.go"}]}`, false},
		{"upwards", `{"kind":"edit","locations":[{"path":"` + dir + `/../x"}]}`, false},
		{"over a link", `{"kind":"edit","locations":[{"path":"` + dir + `/out/new.go"}]}`, false},
		{"deletion inside", `{"kind":"delete","locations":[{"path":"a.go"}]}`, true},
		{"move outside", `{"kind":"move","locations":[{"path":"a.go"},{"path":"/etc/a.go"}]}`, false},
		{
			"too many files",
			`{"kind":"edit","locations":[` + strings.Repeat(`{"path":"a.go"},`, 40) + `{"path":"/etc/passwd"}]}`, false,
		},
		{"a tool of the run", `{"kind":"other","title":"submit_case (ralph MCP Server)"}`, true},
		{"a tool of another server", `{"kind":"other","title":"submit_case (shop MCP Server)"}`, false},
		{"a tool that the run does not have", `{"kind":"other","title":"rm (ralph MCP Server)"}`, false},
		{"a check", `{"kind":"execute","rawInput":{"command":" make test "}}`, true},
		{"a check as words", `{"kind":"execute","rawInput":{"command":["bash","-lc","make test"]}}`, true},
		{"a check of a shell of its own", `{"kind":"execute","rawInput":{"command":["./evil.sh","-c","make test"]}}`, false},
		{"a check of a shell elsewhere", `{"kind":"execute","rawInput":{"command":["/tmp/bash","-c","make test"]}}`, false},
		{"a check as a title", "{\"kind\":\"execute\",\"title\":\"`make test`\"}", true},
		{"a check with a longer name", `{"kind":"execute","rawInput":{"command":"make tester"}}`, false},
		{"a check under another key", `{"kind":"execute","rawInput":{"command":"rm -r /","Command":"make test"}}`, false},
		{"a check beside another key", `{"kind":"execute","rawInput":{"command":"make test","cmd":"rm -r /"}}`, false},
		{"a check and more", `{"kind":"execute","title":"make test","rawInput":{"command":"make test; id"}}`, false},
		{"a check with arguments", `{"kind":"execute","rawInput":{"command":"make test V=1"}}`, true},
		{"a check that runs another", `{"kind":"execute","rawInput":{"command":"make test V=$(id)"}}`, false},
		{
			"a huge command",
			`{"kind":"execute","rawInput":{"command":"make test ` + strings.Repeat("x", maxCommand) + `; id"}}`, false,
		},
		{"nothing at all", `{}`, false},
		{"looking", `{"kind":"search"}`, true},
		{"another mode", `{"kind":"switch_mode","title":"Leave plan mode"}`, false},
	}
	edits := policy{commands: []string{"make test"}, dir: dir, tools: true}
	for _, c := range cases {
		var call toolCall
		stream.Decode([]byte(c.call), &call)
		if got := edits.allows(call); got != c.want {
			t.Errorf("%s: %v for %+v", c.name, got, call)
		}
		if all := (policy{all: true}); !all.allows(call) {
			t.Errorf("%s: not allowed where everything is", c.name)
		}
	}
}

// TestLongQuestion: the part of a question that is not read could contain anything.
func TestLongQuestion(t *testing.T) {
	question := `{"jsonrpc":"2.0","id":9,"method":"session/request_permission",` +
		`"params":{"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}],` +
		`"toolCall":{"toolCallId":"t9","kind":"edit","locations":[{"path":"a.go"}],"content":[{"newText":"`
	for rest, want := range map[string]int{
		`x","path":"a.go"}]}}}`: 0, strings.Repeat("x", stream.MaxLine) + `","path":"/etc/passwd"}]}}}`: 1,
	} {
		r := &stream.Reading{Live: func(ralph.Activity) {}}
		hear := newReader(r, &talk{policy: policy{dir: t.TempDir()}})
		_, _ = hear.Write([]byte(question + rest + "\n"))
		if r.Events != 1 || len(r.Denials) != want {
			t.Errorf("%d bytes: %d understood, denied %v", len(rest), r.Events, r.Denials)
		}
	}
}

func TestChoices(t *testing.T) {
	options := []choice{{"a", "allow_always"}, {"b", "allow_once"}, {"c", "reject_always"}}
	got := choose(options, allowKinds...) + choose(options, rejectKinds...) +
		choose(options[:1], allowKinds...) + choose(nil, allowKinds...)
	if got != "bca" {
		t.Errorf("chose %q", got)
	}
}

func parseAnswer(text string) (a answer) {
	stream.Decode([]byte(text), &a)
	return a
}

func TestModels(t *testing.T) {
	const grouped = `{"sessionId":"s","configOptions":[{"id":"x","type":"boolean","currentValue":true},` +
		`{"id":"m","category":"model","options":[{"group":"g","name":"G","options":[{"value":"p/big","name":"Big"}]}]}]}`
	const old = `{"sessionId":"s","models":{"currentModelId":"a","availableModels":[{"modelId":"$r|b(x)","name":"b"}]}}`
	cases := []struct{ name, session, model, want string }{
		{"by value", grouped, "p/big", `session/set_config_option {"configId":"m","sessionId":"s","value":"p/big"}`},
		{"by name", grouped, "Big", `session/set_config_option {"configId":"m","sessionId":"s","value":"p/big"}`},
		{"not offered", grouped, "p/huge", ""},
		{"the older way", old, "b", `session/set_model {"modelId":"$r|b(x)","sessionId":"s"}`},
		{"the older way, not listed", old, "c", `session/set_model {"modelId":"c","sessionId":"s"}`},
		{"no choice", `{"sessionId":"s"}`, "c", ""},
	}
	for _, c := range cases {
		got := ""
		if method, request, ok := parseAnswer(c.session).modelRequest(c.model); ok {
			text, _ := json.Marshal(request)
			got = method + " " + string(text)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestModeIsTheAskingOne(t *testing.T) {
	for session, want := range map[string]bool{
		`{"modes":{"currentModeId":"yolo","availableModes":[{"id":"default"},{"id":"yolo"}]}}`:    true,
		`{"modes":{"currentModeId":"default","availableModes":[{"id":"default"},{"id":"yolo"}]}}`: false,
		`{"modes":{"currentModeId":"build","availableModes":[{"id":"build"}]}}`:                   false,
		`{}`: false,
	} {
		if got := parseAnswer(session).inOtherMode(); got != want {
			t.Errorf("%s: %v", session, got)
		}
	}
}

func TestAnswersEveryRequest(t *testing.T) {
	talk := &talk{}
	cases := []struct{ method, params, want string }{
		{sdk.ClientMethodSessionRequestPermission, `{"option":"yes"}`, `{"outcome":{"optionId":"yes","outcome":"selected"}}`},
		{sdk.ClientMethodSessionRequestPermission, `{"option":""}`, `{"outcome":{"outcome":"cancelled"}}`},
		{sdk.ClientMethodSessionRequestPermission, `[`, `{"outcome":{"outcome":"cancelled"}}`},
		{
			sdk.ClientMethodTerminalCreate, `{}`,
			`{"code":-32601,"message":"Method not found","data":{"method":"terminal/create"}}`,
		},
	}
	for _, c := range cases {
		answer, refusal := talk.answer(t.Context(), c.method, []byte(c.params))
		text, _ := json.Marshal(answer)
		if refusal != nil {
			text, _ = json.Marshal(refusal)
		}
		if string(text) != c.want {
			t.Errorf("%s %s: %s", c.method, c.params, text)
		}
	}
}

func TestReadersMayOnlyRead(t *testing.T) {
	dir := t.TempDir()
	policy := policy{readOnly: true, commands: []string{"make"}, dir: dir}
	got := map[string]bool{}
	for _, kind := range []string{
		"read", "search", "think", "edit", "delete", "move", "execute", "fetch", "switch_mode", "other", "",
	} {
		got[kind] = policy.allows(toolCall{kind: kind, command: "make", paths: []string{filepath.Join(dir, "a")}})
	}
	want := map[string]bool{
		"read": true, "search": true, "think": true,
		"edit": false, "delete": false, "move": false, "execute": false, "fetch": false, "switch_mode": false,
		"other": false, "": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
