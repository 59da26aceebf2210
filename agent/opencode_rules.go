package agent

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// opencodeFiles returns the user's own configurations in the order in which the CLI reads them.
func opencodeFiles(look Look) []string {
	folder := filepath.Join(look.xdg("XDG_CONFIG_HOME", ".config"), "opencode")
	return []string{
		filepath.Join(folder, "config.json"), filepath.Join(folder, "opencode.json"),
		filepath.Join(folder, "opencode.jsonc"), look.Env("OPENCODE_CONFIG"),
	}
}

// opencodeTexts returns those configurations, and the ones in the environment.
func opencodeTexts(look Look) (texts [][]byte) {
	if look.Env == nil {
		return nil
	}
	for _, file := range opencodeFiles(look) {
		if content, ok := look.file(file); ok {
			texts = append(texts, withoutComments(content))
		}
	}
	texts = append(texts, withoutComments([]byte(look.Env("OPENCODE_CONFIG_CONTENT"))))
	if rules := look.Env("OPENCODE_PERMISSION"); rules != "" { // which ours replace
		texts = append(texts, []byte(`{"permission":`+rules+`}`))
	}
	return texts
}

// opencodeRule is one rule of the user's: what to do if a tool is called with an argument like this.
type opencodeRule struct{ tool, pattern, action string }

// opencodeDenials returns the user's rules in their order, nil if none of them denies anything.
func opencodeDenials(look Look) (rules []opencodeRule) {
	for _, content := range opencodeTexts(look) {
		for _, top := range orderedFields(content) {
			switch top.name {
			case "permission":
				rules = append(rules, opencodePermissions(top.value)...)
			case "tools": // the older form: a tool is on or off
				for _, tool := range orderedFields(top.value) {
					if string(tool.value) == "false" {
						rules = append(rules, opencodeRule{opencodeRuleName(tool.name), "*", "deny"})
					}
				}
			}
		}
	}
	if !slices.ContainsFunc(rules, func(r opencodeRule) bool { return r.action == "deny" }) {
		return nil
	}
	return rules
}

// opencodeRuleName returns the name by which rules know a tool.
func opencodeRuleName(name string) string {
	if slices.Contains([]string{"write", "patch", "multiedit"}, name) {
		return "edit"
	}
	return name
}

// opencodePermissions reads rules: one action for everything, or an action or patterns by tool.
func opencodePermissions(value json.RawMessage) (rules []opencodeRule) {
	var action string
	if json.Unmarshal(value, &action) == nil {
		return []opencodeRule{{"*", "*", action}}
	}
	for _, tool := range orderedFields(value) {
		if json.Unmarshal(tool.value, &action) == nil {
			rules = append(rules, opencodeRule{tool.name, "*", action})
			continue
		}
		for _, pattern := range orderedFields(tool.value) {
			if json.Unmarshal(pattern.value, &action) == nil {
				rules = append(rules, opencodeRule{tool.name, pattern.name, action})
			}
		}
	}
	return rules
}

// narrowed adds what the user's own rules deny. It never allows more than ours do: in edit mode, the
// user's permission for a tool counts only if ours allow all of it.
func (o orderedRules) narrowed(own []opencodeRule, permissions Permissions) orderedRules {
	tools := opencodeFree
	if permissions == PermitReading {
		tools = opencodeReading
	}
	for _, rule := range own {
		action := rule.action
		switch {
		case action == "deny":
		case permissions == PermitAll, action == "allow" && slices.Contains(tools, rule.tool):
			action = "allow"
		default:
			continue // ours decide, and there is no one to ask
		}
		o = o.with(opencodeMask(rule.tool), rule.pattern, action)
	}
	return o
}

// with adds a rule to those of a tool, after its others.
func (o orderedRules) with(tool, pattern, action string) orderedRules {
	i := slices.IndexFunc(o, func(r orderedRule) bool { return r.name == tool })
	if i < 0 {
		return append(o, orderedRule{tool, orderedRules{{pattern, action}}})
	}
	patterns, _ := o[i].rule.(orderedRules) // the name is never one of ours
	patterns = slices.DeleteFunc(patterns, func(r orderedRule) bool { return r.name == pattern })
	o[i].rule = append(patterns, orderedRule{pattern, action})
	return o
}

// opencodeMask writes the name of a tool so that its rules come after ours and the user's: it differs
// from both.
func opencodeMask(tool string) string {
	if len(tool) < 2 || strings.HasSuffix(tool, "*") {
		return tool + "*"
	}
	return tool[:len(tool)-1] + "?"
}

// jsonField is a field of an object.
type jsonField struct {
	name  string
	value json.RawMessage
}

// orderedFields returns the fields of a JSON object in their order; nil if it is none.
func orderedFields(object []byte) (fields []jsonField) {
	d := json.NewDecoder(bytes.NewReader(object))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		key, _ := name.(string)
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil
		}
		fields = append(fields, jsonField{key, value})
	}
	return fields
}

// opencodeOwn is [About.Own] of opencode.
func opencodeOwn(r Request) Own {
	var own Own
	plugins, allowed := 0, 0
	servers := map[string]json.RawMessage{}
	for _, content := range opencodeTexts(r.Look) {
		config := parseObject(content)
		var list []json.RawMessage
		_ = json.Unmarshal(config["plugin"], &list)
		plugins += len(list)
		for name, server := range config.object("mcp") {
			servers[name] = server
		}
		for _, rule := range opencodePermissions(config["permission"]) {
			if rule.action == "allow" && !slices.Contains(opencodeFree, rule.tool) && r.Permissions != PermitAll {
				allowed++
			}
		}
	}
	folder := filepath.Join(r.Look.xdg("XDG_CONFIG_HOME", ".config"), "opencode")
	for _, name := range []string{"plugin", "plugins"} {
		plugins += r.Look.countEntries(filepath.Join(folder, name))
	}
	own.leaveOut(plugins, "plugin")
	own.leaveOut(len(servers), "MCP server")
	own.leaveOut(allowed, "allow rule")
	return own
}
