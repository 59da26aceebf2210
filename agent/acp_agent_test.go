package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"
)

// roleACP makes the test binary an agent that speaks ACP. Its value is the scene to play.
const roleACP = "AGENT_TEST_ACP"

// acpSeen is what the fake agent received.
type acpSeen struct {
	Client    string
	Files     bool
	Cwd       string
	Prompt    int // bytes
	Mode      string
	Model     string
	Login     string
	Outcomes  []string
	Cancelled bool
}

// playedACP is an agent that follows a scene. It is never asked for what it does not implement.
type playedACP struct {
	acp.Agent
	scene string
	conn  *acp.AgentSideConnection
	ready chan struct{} // closed once conn is set
	told  chan struct{} // closed once it has recorded a cancellation
	mu    sync.Mutex
	seen  acpSeen
}

func playACP(scene string) int {
	// the connection's own logger cannot be set without a race
	slog.SetDefault(slog.New(slog.DiscardHandler))
	a := &playedACP{scene: scene, ready: make(chan struct{}), told: make(chan struct{})}
	switch scene {
	case "silent":
		time.Sleep(time.Hour)
	case "garbage":
		fmt.Print(
			"npm warn <promise>BLOCKED:no</promise>\n\n}{\n" +
				"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\n{\"id\":1,\"level\":\"info\"}\n[]\n",
		)
	}
	a.conn = acp.NewAgentSideConnection(a, os.Stdout, os.Stdin)
	close(a.ready)
	<-a.conn.Done()
	switch scene {
	case "stays":
		time.Sleep(time.Hour)
	case "grumbles":
		return 3
	}
	return 0
}

func (a *playedACP) note(change func(*acpSeen)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.seen)
	if path, ok := os.LookupEnv(roleSeen); ok {
		text, _ := json.Marshal(a.seen)
		_ = os.WriteFile(path, text, 0o600)
	}
}

func (a *playedACP) Initialize(_ context.Context, p acp.InitializeRequest) (acp.InitializeResponse, error) {
	a.note(func(s *acpSeen) {
		s.Client, s.Files = p.ClientInfo.Name, p.ClientCapabilities.Fs.ReadTextFile || p.ClientCapabilities.Fs.WriteTextFile
	})
	response := acp.InitializeResponse{ProtocolVersion: p.ProtocolVersion, AuthMethods: []acp.AuthMethod{
		{Agent: &acp.AuthMethodAgent{Id: "browser", Name: "Browser", Description: acp.Ptr("Opens one")}},
		{EnvVar: &acp.AuthMethodEnvVarInline{
			Id: "key", Name: "Key", Type: "env_var", Vars: []acp.AuthEnvVar{{Name: "PLAYED_KEY"}},
		}},
	}}
	if a.scene == "version" {
		response.ProtocolVersion = 2
	}
	return response, nil
}

func (a *playedACP) Authenticate(_ context.Context, p acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	a.note(func(s *acpSeen) { s.Login = p.MethodId })
	return acp.AuthenticateResponse{}, nil
}

func (a *playedACP) NewSession(_ context.Context, p acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	login := ""
	a.note(func(s *acpSeen) { s.Cwd, login = p.Cwd, s.Login })
	if a.scene == "login" && login == "" {
		return acp.NewSessionResponse{}, acp.NewAuthRequired(nil)
	}
	category := acp.SessionConfigOptionCategory("model")
	models := acp.SessionConfigSelectOptionsUngrouped{{Value: "p/small", Name: "Small"}, {Value: "p/big", Name: "Big"}}
	return acp.NewSessionResponse{
		SessionId: "s1",
		Modes: &acp.SessionModeState{CurrentModeId: "auto", AvailableModes: []acp.SessionMode{
			{Id: "auto", Name: "Auto"}, {Id: "default", Name: "Default"},
		}},
		ConfigOptions: []acp.SessionConfigOption{{Select: &acp.SessionConfigOptionSelect{
			Id: "m", Name: "Model", Type: "select", Category: &category, CurrentValue: "p/small",
			Options: acp.SessionConfigSelectOptions{Ungrouped: &models},
		}}},
	}, nil
}

func (a *playedACP) SetSessionMode(_ context.Context, p acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	a.note(func(s *acpSeen) { s.Mode = string(p.ModeId) })
	if a.scene == "stubborn" {
		return acp.SetSessionModeResponse{}, acp.NewInvalidParams(nil)
	}
	return acp.SetSessionModeResponse{}, nil
}

func (a *playedACP) SetSessionConfigOption(
	_ context.Context, p acp.SetSessionConfigOptionRequest,
) (acp.SetSessionConfigOptionResponse, error) {
	a.note(func(s *acpSeen) { s.Model = string(p.ValueId.ConfigId) + "=" + string(p.ValueId.Value) })
	if a.scene == "stubborn" {
		return acp.SetSessionConfigOptionResponse{}, acp.NewInvalidParams(nil)
	}
	return acp.SetSessionConfigOptionResponse{}, nil
}

func (a *playedACP) Cancel(context.Context, acp.CancelNotification) error {
	a.note(func(s *acpSeen) { s.Cancelled = true })
	close(a.told)
	return nil
}

func (a *playedACP) Prompt(ctx context.Context, p acp.PromptRequest) (acp.PromptResponse, error) {
	<-a.ready
	a.note(func(s *acpSeen) { s.Prompt = len(p.Prompt[0].Text.Text) })
	switch a.scene {
	case "good":
		a.work(ctx)
	case "asks":
		a.askAll(ctx)
	case "wants more":
		_, err := a.conn.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionId: "s1", Path: "/etc/hostname"})
		a.say(ctx, fmt.Sprint("refused: ", err != nil, "\n"))
	case "flood":
		for i := range 5000 {
			a.say(ctx, fmt.Sprintln("line", i))
		}
	case "garbage":
		fmt.Print("some library says hello\n{\"jsonrpc\":\"2.0\",\"method\":17}\n")
	case "crash":
		a.say(ctx, "I begin.\n")
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(7)
	case "torn":
		a.say(ctx, "I begin.\n")
		fmt.Print(`{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_t`)
		os.Exit(0)
	case "works on", "works on, deaf":
		a.say(ctx, "I begin.\n")
		<-a.told // the context may be done before that is recorded
		if a.scene == "works on, deaf" {
			time.Sleep(time.Hour)
		}
		return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
	}
	a.say(ctx, "All done.\n<promise>COMPLETE</promise>\n")
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn, Usage: &acp.Usage{
		InputTokens: 10, OutputTokens: 5, TotalTokens: 15,
	}}, nil
}

func (a *playedACP) tell(ctx context.Context, update acp.SessionUpdate) {
	_ = a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: "s1", Update: update})
}

func (a *playedACP) say(ctx context.Context, text string) {
	a.tell(ctx, acp.UpdateAgentMessageText(text))
}

func (a *playedACP) work(ctx context.Context) {
	a.tell(ctx, acp.UpdateUserMessageText("<promise>BLOCKED:the prompt</promise>"))
	a.tell(ctx, acp.UpdateAgentThoughtText("Hm.\n<promise>BLOCKED:a thought</promise>"))
	a.tell(ctx, acp.UpdatePlan(
		acp.PlanEntry{Content: "look", Priority: "high", Status: acp.PlanEntryStatusCompleted},
		acp.PlanEntry{Content: "write", Priority: "high", Status: acp.PlanEntryStatusInProgress},
		acp.PlanEntry{Content: "test", Priority: "low", Status: acp.PlanEntryStatusPending},
	))
	a.say(ctx, "First I lo")
	a.say(ctx, "ok.\nThen I write.\n")
	a.tell(
		ctx,
		acp.StartToolCall("c1", "Write", acp.WithStartKind(acp.ToolKindEdit), acp.WithStartStatus(acp.ToolCallStatusPending)),
	)
	a.tell(
		ctx,
		acp.UpdateToolCall("c1", acp.WithUpdateStatus(acp.ToolCallStatusInProgress), acp.WithUpdateTitle("Write a.go")),
	)
	a.tell(ctx, acp.UpdateToolCall("c1", acp.WithUpdateStatus(acp.ToolCallStatusCompleted),
		acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock("<promise>BLOCKED:a tool</promise>"))})))
}

// asked are the permissions that the fake agent asks for: the kind, the subject, and whether the
// call is reported beforehand or in the question.
var asked = []struct{ kind, about string }{
	{"read", "/etc/hosts"},
	{"edit", "a.go"},
	{"edit", "/etc/hosts"},
	{"execute", "go test ./..."},
	{"execute", "go test ./... -run 'TestA|TestB'"},
	{"execute", "go test ./... -count 1"},
	{"execute", "go test ./... && rm -r /"},
	{"execute", "rm -r /"},
	{"fetch", "http://127.0.0.1/"},
	{"", "mystery"},
}

func (a *playedACP) askAll(ctx context.Context) {
	for i, q := range asked {
		id := acp.ToolCallId(fmt.Sprint("c", i))
		told := acp.StartToolCall(id, q.about, acp.WithStartKind(acp.ToolKind(q.kind)))
		if q.kind == "edit" {
			told.ToolCall.Locations = []acp.ToolCallLocation{{Path: q.about}}
		}
		if q.kind == "execute" {
			told.ToolCall.RawInput = map[string]any{"command": q.about}
		}
		a.tell(ctx, told)
		answer, err := a.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
			SessionId: "s1", ToolCall: acp.ToolCallUpdate{ToolCallId: id},
			Options: []acp.PermissionOption{
				{OptionId: "always", Name: "Always", Kind: acp.PermissionOptionKindAllowAlways},
				{OptionId: "yes", Name: "Yes", Kind: acp.PermissionOptionKindAllowOnce},
				{OptionId: "no", Name: "No", Kind: acp.PermissionOptionKindRejectOnce},
			},
		})
		outcome := "none"
		if err == nil && answer.Outcome.Selected != nil {
			outcome = string(answer.Outcome.Selected.OptionId)
		}
		a.note(func(s *acpSeen) { s.Outcomes = append(s.Outcomes, strings.TrimSpace(q.kind+" "+q.about)+": "+outcome) })
	}
}
