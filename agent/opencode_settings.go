package agent

import (
	"encoding/json"

	"github.com/ralphloop/ralph/internal/text"
)

// opencodeServersOf returns the configuration with the servers of a run: without the user's own, unless
// they are inherited, and with the one of the run's tools. "" changes nothing.
func opencodeServersOf(r Request) string {
	servers := ""
	if !r.InheritSettings || r.Permissions == PermitReading {
		servers = opencodeAlone(r.Look)
	}
	if r.Tools == "" {
		return servers
	}
	if servers == "" && r.Look.Env != nil {
		servers = r.Look.Env("OPENCODE_CONFIG_CONTENT")
	}
	config := jsonObject{}
	if servers != "" {
		if config = parseObject(withoutComments([]byte(servers))); config == nil {
			return "" // the user's own cannot be parsed
		}
	}
	server := map[string]any{
		"type": "local", "command": []string{r.Tools, "mcp"}, "enabled": true, "timeout": toolSeconds * 1000,
	}
	config.merge(parseObject([]byte(jsonText(map[string]any{"mcp": map[string]any{toolServer: server}}))))
	return jsonText(config)
}

// opencodeAlone returns the configuration that disables the user's own MCP servers by name:
// configurations are merged, and there is no flag for all. It replaces a configuration that the
// user gives in the same variable, and therefore includes that one. It is "" if there is nothing to
// disable, or if the user's own cannot be parsed.
func opencodeAlone(look Look) string {
	if look.File == nil {
		return ""
	}
	own := map[string]json.RawMessage{}
	if given := look.Env("OPENCODE_CONFIG_CONTENT"); given != "" &&
		json.Unmarshal(withoutComments([]byte(given)), &own) != nil {
		return ""
	}
	servers := map[string]map[string]any{}
	_ = json.Unmarshal(own["mcp"], &servers)
	for _, file := range opencodeFiles(look) {
		if text, ok := look.File(file); ok {
			for _, name := range opencodeServers(text) {
				if servers[name] == nil {
					servers[name] = map[string]any{}
				}
			}
		}
	}
	if len(servers) == 0 {
		return ""
	}
	for _, server := range servers {
		server["enabled"] = false
	}
	own["mcp"], _ = json.Marshal(servers) // it was read from JSON
	text, _ := json.Marshal(own)
	return string(text)
}

// opencodeServers returns the names of the MCP servers in a configuration.
func opencodeServers(text []byte) (names []string) {
	var config struct {
		MCP map[string]json.RawMessage `json:"mcp"`
	}
	if json.Unmarshal(withoutComments(text), &config) == nil {
		for name := range config.MCP {
			names = append(names, name)
		}
	}
	return names
}

var (
	jsonComment = text.LazyRegexp(`(?s)"(?:\\.|[^"\\])*"?|//[^\n]*\n?|/\*(?:/|.*?(?:\*/|\z))`)
	jsonComma   = text.LazyRegexp(`(?s)"(?:\\.|[^"\\])*"?|,[\x00- ]*[}\]]`)
)

// withoutComments removes what people write into JSON that is not allowed: comments, and commas
// before a closing bracket.
func withoutComments(text []byte) []byte {
	text = jsonComment().ReplaceAllFunc(text, func(found []byte) []byte {
		if found[0] == '/' {
			return nil
		}
		return found
	})
	return jsonComma().ReplaceAllFunc(text, func(found []byte) []byte {
		if found[0] == ',' {
			return append([]byte{' '}, found[1:]...)
		}
		return found
	})
}
