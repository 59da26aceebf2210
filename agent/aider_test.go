package agent

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/process"
)

const (
	aiderStart = "Aider v0.86.1\nModel: gpt with diff edit format\nGit repo: .git with 3 files\nRepo-map: " +
		"using 1024 tokens\n\n"
	aiderReport = "\nTokens: 1.2k sent, 30 received. Cost: $0.01 message, $0.02 session.\n"
)

func TestAiderCommand(t *testing.T) {
	base := []string{
		"--yes-always", "--no-auto-commits", "--no-dirty-commits", "--no-gitignore", "--no-suggest-shell-commands",
		"--no-detect-urls",
		"--no-auto-lint", "--no-auto-test", "--no-pretty", "--no-fancy-input", "--stream", "--no-check-update",
		"--no-show-release-notes",
		"--no-show-model-warnings", "--analytics-disable", "--no-restore-chat-history",
	}
	histories := []string{
		"--chat-history-file", filepath.Join("f", "aider.chat.history.md"), "--input-history-file",
		filepath.Join("f", "aider.input.history"),
	}
	cases := map[string]struct {
		request Request
		want    []string
	}{
		"plain": {
			Request{PromptFile: "p", Permissions: PermitEdits, AllowedCommands: []string{"make"}},
			append([]string{"aider", "--message-file", "p"}, base...),
		},
		"with everything": {
			Request{
				Program: "/opt/aider", PromptFile: "p", Folder: "f", Permissions: PermitAll, InheritSettings: true,
				Model: "gpt", ExtraArgs: []string{"--read", "x"},
			},
			append(
				append(append([]string{"/opt/aider", "--message-file", "p"}, base...), histories...), "--model", "gpt",
				"--read", "x",
			),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := aider{}.Command(c.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Command{Argv: c.want, Env: []string{"COLUMNS=1000"}}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestAiderEndings: aider exits with status 0 even if the model failed.
func TestAiderEndings(t *testing.T) {
	words := "litellm.AuthenticationError: I read about that\nThe API provider is not able to authenticate " +
		"you. Check your API key.\n"
	cases := []struct {
		name, stdout string
		status       int
		want         ending
	}{
		{"good", aiderStart + "hello\n" + aiderReport, 0, ending{End: ralph.EndOK}},
		{"words are not errors", aiderStart + words + aiderReport, 0, ending{End: ralph.EndOK}},
		{"bad status", aiderStart + "hello\n" + aiderReport, 1, ending{
			End: ralph.EndFailed, Error: "the agent ended with exit status 1",
		}},
		{"login refused", aiderStart + "litellm.AuthenticationError: OpenAIException - bad key\nThe API provider " +
			"is not able to authenticate you. Check your API key.\n", 0,
			ending{End: ralph.EndAuth, Error: "AuthenticationError: OpenAIException - bad key", Hint: aiderLogin}},
		{"limit", aiderStart + "litellm.RateLimitError: slow down\nRetrying in 0.2 " +
			"seconds...\nlitellm.RateLimitError: slow down\n", 0,
			ending{End: ralph.EndLimit, Error: "RateLimitError: slow down"}},
		{"no connection, after an answer", aiderStart + "hello\n" + aiderReport +
			"litellm.InternalServerError: Connection error.\n", 0,
			ending{End: ralph.EndProvider, Error: "InternalServerError: Connection error."}},
		{"bad model", aiderStart + "litellm.NotFoundError: no such model\n", 0, ending{
			End: ralph.EndFailed, Error: "NotFoundError: no such model",
		}},
		{
			"tried again, then good",
			aiderStart + "litellm.APIError: oops\nRetrying in 0.2 seconds...\nhello\n" + aiderReport, 0,
			ending{End: ralph.EndOK},
		},
		{"never answered", aiderStart, 0, ending{
			End: ralph.EndFailed, Error: "aider ended without an answer from the model",
		}},
		{"empty answer", aiderStart + "Empty response received from LLM. Check your provider account?\n\nTokens: " +
			"1.2k sent, 0 received.\n", 0,
			ending{End: ralph.EndEmpty, Error: "the agent wrote no message"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, endingOf(listen("aider", []byte(c.stdout), 7, exited(c.status)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestAiderWaitsForNoLogin: without a key it would start a login, and wait for a browser.
func TestAiderWaitsForNoLogin(t *testing.T) {
	want := ending{End: ralph.EndAuth, Error: "no API key found for any model", Hint: aiderLogin}
	if diff := cmp.Diff(want, endingOf(newStage(t, "aider", aiderKeyless+"\n", "hang").run(t.Context(), t))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := listen("aider", []byte(aiderStart+aiderKeyless+"\n"+aiderReport), whole, exited(0)); got.End != ralph.EndOK {
		t.Errorf("the agent's words ended it: %s (%s)", got.End, got.Error)
	}
}

func TestAiderTimeoutIsNoGoodEnd(t *testing.T) {
	e := ended{Result: process.Result{State: process.TimedOut, ExitCode: 143}, timeout: time.Minute}
	want := ending{End: ralph.EndTimeout, Error: "timed out after 1m0s"}
	got := listen("aider", []byte(aiderStart+"hello\n"+aiderReport+"I go on\n"), whole, e)
	if diff := cmp.Diff(want, endingOf(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAiderFigures(t *testing.T) {
	stdout := aiderStart +
		// forged by the agent
		"I look.\n\nTokens: 1 sent, 1 received. Cost: $9.00 message, $9.00 session.\n" +
		"I go on.\nApplied edit to nothing\n" + // forged as well
		aiderReport + "Applied edit to a.go\nApplied edit to b.go\nAdd file to the chat? (Y)es/(N)o [Yes]: y\n\nI see.\n" +
		"\nTokens: 12k sent, 10k cache write, 8k cache hit, 200 received.\nCost: $0.02 message, $0.04 session.\n"
	got, live := listenLive("aider", []byte(stdout), whole, exited(0))
	steps, forged, first, cost := 3, 9.0, 0.02, 0.04
	want := ralph.AgentOutcome{
		Agent: "aider", End: ralph.EndOK, Steps: &steps, Cost: &cost, Model: "gpt", Tools: map[string]int{"edit": 2},
		OutputBytes: int64(len(stdout)), Said: got.Said,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantLive := []ralph.Activity{
		{Kind: "text", Detail: "Aider v0.86.1"}, {Kind: "spent", Cost: &forged}, {Kind: "text", Detail: "I go on."},
		{Kind: "spent", Cost: &first},
		{Kind: "tool", Name: "edit", Detail: "a.go"}, {Kind: "tool", Name: "edit", Detail: "b.go"},
		{Kind: "text", Detail: "Add file to the chat? (Y)es/(N)o [Yes]: y"}, {Kind: "spent", Cost: &cost},
	}
	if diff := cmp.Diff(wantLive, live); diff != "" {
		t.Errorf("live -want +got:\n%s", diff)
	}
}

func TestAiderThoughtsAreNoWords(t *testing.T) {
	const thought = "--------------\n► **THINKING**\n\n<promise>COMPLETE</promise>\n\n"
	if got := listen("aider", []byte(aiderStart+thought+aiderReport+"x\n"), whole, exited(0)); got.Said.Complete {
		t.Errorf("a thought was heard: %+v", got.Said)
	}
	answer := thought + "------------\n► **ANSWER**\n\n<promise>BLOCKED:no key</promise>\n"
	if got := listen("aider", []byte(aiderStart+answer+aiderReport), whole, exited(0)); got.Said.Blocked == nil ||
		got.Said.Complete {
		t.Errorf("the answer was not heard: %+v", got.Said)
	}
}

func TestAiderOwnWordsAreNotHeard(t *testing.T) {
	const done = "<promise>COMPLETE</promise>\n"
	long := strings.Repeat(strings.Repeat("x", 99)+"\n", stream.MaxLine/100+1)
	cases := map[string]struct {
		stdout string
		want   bool
	}{
		"before the tokens":                 {aiderStart + done + aiderReport, true},
		"after the last answer":             {aiderStart + "hello\n" + aiderReport + done, false},
		"after one, before the next":        {aiderStart + "hello\n" + aiderReport + done + aiderReport, true},
		"an answer that broke off":          {aiderStart + done, false},
		"at the end of a long answer":       {aiderStart + long + done + aiderReport, true},
		"at the beginning of a long answer": {aiderStart + done + long + aiderReport, true},
	}
	for name, c := range cases {
		if got := listen("aider", []byte(c.stdout), 32<<10, exited(0)); got.Said.Complete != c.want {
			t.Errorf("%s: heard %v, want %v", name, got.Said.Complete, c.want)
		}
	}
}

func TestAiderAccount(t *testing.T) {
	cases := map[string]struct {
		env, files map[string]string
		want       Account
	}{
		"nothing": {nil, nil, Account{Login: LoginUnknown, Billing: BillingUnknown}},
		"variable": {map[string]string{"OPENAI_API_KEY": "k"}, nil, Account{
			Login: LoggedIn, Billing: BillingKey, Because: "OPENAI_API_KEY is set",
		}},
		"settings": {nil, map[string]string{filepath.Join("/home/u", ".aider.conf.yml"): "openai-api-key: k\n"},
			Account{Login: LoggedIn, Billing: BillingKey, Because: "~/.aider.conf.yml has a key"}},
		"router": {nil, map[string]string{filepath.Join("/home/u", ".aider", "oauth-keys.env"): "OPENROUTER_API_KEY=k\n"},
			Account{Login: LoggedIn, Billing: BillingKey, Because: "~/.aider/oauth-keys.env has a key"}},
	}
	for name, c := range cases {
		if got := aiderAccount(lookAt("linux", c.env, c.files)); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func FuzzAider(f *testing.F) { fuzzReader(f, "aider") }
