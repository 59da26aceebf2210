package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// acpAskingMode is the mode in which an agent asks, under the name that all known agents give it which have one.
const acpAskingMode = "default"

// acpGreeting is what is needed of the answer to initialize. The SDK's own types are not used for answers: they refuse what they do not know.
type acpGreeting struct {
	ProtocolVersion int             `json:"protocolVersion"`
	AuthMethods     []acpAuthMethod `json:"authMethods"`
}

type acpAuthMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"`
	Vars        []struct {
		Name     string `json:"name"`
		Optional bool   `json:"optional"`
	} `json:"vars"`
}

func parseACPGreeting(text []byte) (g acpGreeting) {
	_ = json.Unmarshal(text, &g) // as far as it goes
	return g
}

// keyMethod is a way to log in with nothing but variables that are all set. The protocol has it, none of the agents that were tried offers it.
func (g acpGreeting) keyMethod(env []string) (id string, ok bool) {
	for _, m := range g.AuthMethods {
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

// acpSession is what is needed of the answer to session/new.
type acpSession struct {
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
	Options []acpOption `json:"configOptions"`
}

// acpOption is a setting of a session with its values, which may be in groups.
type acpOption struct {
	ID       string     `json:"id"`
	Category string     `json:"category"`
	Values   []acpValue `json:"options"`
}

type acpValue struct {
	Value  string     `json:"value"`
	Name   string     `json:"name"`
	Values []acpValue `json:"options"`
}

func parseACPSession(text []byte) (s acpSession) {
	_ = json.Unmarshal(text, &s) // as far as it goes
	return s
}

// strays says that the session is in a mode in which other things decide than our permissions: qwen begins in one where a model does.
func (s acpSession) strays() bool {
	for _, m := range s.Modes.Available {
		if m.ID == acpAskingMode {
			return s.Modes.Current != acpAskingMode
		}
	}
	return false
}

// modelRequest is the request that chooses a model, by its id or by the name that people see. An agent with the older way to choose is told any
// name: gemini's list leaves out models that it knows.
func (s acpSession) modelRequest(model string) (method string, request any, ok bool) {
	for _, o := range s.Options {
		if o.Category != "model" {
			continue
		}
		if value, ok := findACPValue(o.Values, model); ok {
			return acp.AgentMethodSessionSetConfigOption, acp.SetSessionConfigOptionValueId{
				SessionId: acp.SessionId(s.SessionID), ConfigId: acp.SessionConfigId(o.ID), Value: acp.SessionConfigValueId(value),
			}, true
		}
	}
	if s.Models.Current == "" && len(s.Models.Available) == 0 {
		return "", nil, false
	}
	id := model
	for _, m := range s.Models.Available {
		if m.Name == model && m.ID != "" {
			id = m.ID
		}
	}
	return acpSetModel, map[string]string{"sessionId": s.SessionID, "modelId": id}, true
}

func findACPValue(values []acpValue, model string) (string, bool) {
	for _, v := range values {
		if v.Value != "" && (v.Value == model || v.Name == model) {
			return v.Value, true
		}
		if value, ok := findACPValue(v.Values, model); ok {
			return value, true
		}
	}
	return "", false
}
