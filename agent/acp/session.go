package acp

import (
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"
)

// askingMode is the mode in which an agent asks. All known agents that have one use this name.
const askingMode = "default"

// answer holds the needed fields of all responses; the fields that are set tell which one it was.
// The SDK's own response types are not used because they reject unknown values.
type answer struct {
	// Fields of initialize.
	ProtocolVersion int          `json:"protocolVersion"`
	AuthMethods     []authMethod `json:"authMethods"`

	// Fields of session/new. Other responses also list the settings, always with their current
	// values.
	SessionID string `json:"sessionId"`
	Modes     struct {
		Current   string `json:"currentModeId"`
		Available []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
	Models struct {
		Current   string `json:"currentModelId"`
		Available []struct {
			ID   string `json:"modelId"`
			Name string `json:"name"`
		} `json:"availableModels"`
	} `json:"models"`
	Options []configOption `json:"configOptions"`

	// Fields of session/prompt.
	StopReason *string `json:"stopReason"`
	Usage      tokens  `json:"usage"`
	Meta       struct {
		Quota quota `json:"quota"`
	} `json:"_meta"`
}

type authMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"`
	Vars        []struct {
		Name     string `json:"name"`
		Optional bool   `json:"optional"`
	} `json:"vars"`
}

// keyMethod finds a way to log in with only variables that are all set. The protocol has it, but
// none of the agents that were tried offers it.
func (a answer) keyMethod(env []string) (id string, ok bool) {
	for _, m := range a.AuthMethods {
		if m.Type != "env_var" || len(m.Vars) == 0 {
			continue
		}
		missing := false
		for _, v := range m.Vars {
			set := slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, v.Name+"=") && e != v.Name+"=" })
			missing = missing || !set && !v.Optional
		}
		if !missing {
			return m.ID, true
		}
	}
	return "", false
}

// configOption is a setting of a session with its values, which may be in groups.
type configOption struct {
	ID       string        `json:"id"`
	Category string        `json:"category"`
	Current  string        `json:"currentValue"`
	Values   []configValue `json:"options"`
}

type configValue struct {
	Value  string        `json:"value"`
	Name   string        `json:"name"`
	Values []configValue `json:"options"`
}

// inOtherMode reports whether the session is in a mode in which something other than our
// permissions decides: qwen starts in one where a model does.
func (a answer) inOtherMode() bool {
	for _, m := range a.Modes.Available {
		if m.ID == askingMode {
			return a.Modes.Current != askingMode
		}
	}
	return false
}

// modelRequest returns the request that chooses a model, by its id or by its display name. An agent
// with the older way to choose gets any name: gemini's list leaves out models that it knows.
func (a answer) modelRequest(model string) (method string, request any, ok bool) {
	for _, o := range a.Options {
		if o.Category != "model" {
			continue
		}
		if value, ok := findValue(o.Values, model); ok {
			return sdk.AgentMethodSessionSetConfigOption, sdk.SetSessionConfigOptionValueId{
				SessionId: sdk.SessionId(a.SessionID), ConfigId: sdk.SessionConfigId(o.ID), Value: sdk.SessionConfigValueId(value),
			}, true
		}
	}
	if a.Models.Current == "" && len(a.Models.Available) == 0 {
		return "", nil, false
	}
	id := model
	for _, m := range a.Models.Available {
		if m.Name == model && m.ID != "" {
			id = m.ID
		}
	}
	return setModel, map[string]string{"sessionId": a.SessionID, "modelId": id}, true
}

func findValue(values []configValue, model string) (string, bool) {
	for _, v := range values {
		if v.Value != "" && (v.Value == model || v.Name == model) {
			return v.Value, true
		}
		if value, ok := findValue(v.Values, model); ok {
			return value, true
		}
	}
	return "", false
}
