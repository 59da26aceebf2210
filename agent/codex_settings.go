package agent

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// codexAlone returns the flags that keep the user's own hooks, notifier, plugins, connectors and
// MCP servers out of a run. The rest of the user's settings stays: they hold the model's provider,
// without which there may be no login. A feature that a version does not know is an error after
// --disable, but not in this form.
//
// An empty table of servers would change nothing, because tables are merged (openai/codex#16045),
// so every server is disabled by name. The user's AGENTS.md and skills cannot be excluded without
// the login. Seen with version 0.166.
func codexAlone(look Look) []string {
	flags := []string{
		"-c", "features.hooks=false", "-c", "notify=[]", "-c", "features.plugins=false", "-c", "features.apps=false",
		"-c", "analytics.enabled=false",
	}
	off := text.Mapped(codexServers(look), func(name string) string { return name + "={enabled=false}" })
	if off != nil {
		flags = append(flags, "-c", "mcp_servers={"+strings.Join(off, ",")+"}")
	}
	return flags
}

// codexSandbox returns the flags for edit mode. A permission profile of the user's own, which may
// deny files, has no effect beside --sandbox. Named here, it outranks what the project's settings
// choose.
func codexSandbox(look Look) []string {
	if profile := codexProfile(look); profile != "" {
		return []string{"-c", "default_permissions=" + quotedString(profile)}
	}
	return []string{"--sandbox", "workspace-write"}
}

// codexProfile returns the permission profile that the user has written and chosen; "" if there is
// none. Names with a colon are the CLI's own: these are modes, like those that a run sets.
func codexProfile(look Look) string {
	name := codexTop(codexConfig(look), "default_permissions")
	if strings.HasPrefix(name, ":") {
		return ""
	}
	return name
}

var (
	codexHookLine   = text.LazyRegexp(`(?m)^[ \t]*\[\[[ \t]*hooks[ \t]*\.[^\]\n]*\.[ \t]*hooks[ \t]*\]\]`)
	codexPluginLine = text.LazyRegexp(`(?m)^[ \t]*\[[ \t]*plugins[ \t]*\.`)
	codexNotifyLine = text.LazyRegexp(`(?m)^[ \t]*notify[ \t]*=[ \t]*\[[ \t]*["'\n]`)
)

// codexOwn is [About.Own] of Codex.
func codexOwn(r Request) Own {
	var own Own
	config := codexConfig(r.Look)
	inFile := r.Look.readObject(filepath.Join(codexHome(r.Look), "hooks.json")).object("hooks")
	own.leaveOut(len(codexHookLine().FindAll(config, -1))+countHooks(inFile), "hook")
	own.leaveOut(len(codexNotifyLine().FindAll(config, -1)), "notifier")
	own.leaveOut(len(codexPluginLine().FindAll(config, -1)), "plugin")
	own.leaveOut(len(codexServers(r.Look)), "MCP server")
	switch profile := codexProfile(r.Look); {
	case profile == "":
	case r.Permissions == PermitAll:
		own.LeftOut = append(own.LeftOut, "the permission profile "+profile+" (there is no sandbox)")
	default:
		own.Notes = append(own.Notes, "codex keeps to your permission profile "+profile)
	}
	return own
}

// codexServerLine matches the heading of a server's table, or a key in it. Servers within one
// inline table are not found.
var codexServerLine = text.LazyRegexp(
	`(?m)^[ \t]*(?:\[[ \t]*)?mcp_servers[ \t]*\.[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*[.\]=]`,
)

// codexServers returns the MCP servers of the user's configuration, as written there.
func codexServers(look Look) []string {
	var names []string
	for _, m := range codexServerLine().FindAllSubmatch(codexConfig(look), -1) {
		if name := string(m[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func codexConfig(look Look) []byte {
	if look.File == nil {
		return nil
	}
	config, _ := look.File(filepath.Join(codexHome(look), "config.toml"))
	return config
}

func codexHome(look Look) string {
	return cmp.Or(look.Env("CODEX_HOME"), filepath.Join(look.Home, ".codex"))
}

// The parts of TOML needed to find what a model provider names: a line before its comment, the
// heading of a table, a key and its value.
var (
	tomlPlain   = text.LazyRegexp(`^(?:[^"'#]|"(?:[^"\\]|\\.)*"|'[^']*')*`)
	tomlHeading = text.LazyRegexp(`^\s*\[([^\[\]]+)\]`)
	tomlKey     = text.LazyRegexp(`^\s*((?:[A-Za-z0-9_.\s-]|"(?:[^"\\]|\\.)*"|'[^']*')+?)\s*=\s*(.*)$`)
	tomlPart    = text.LazyRegexp(`"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+`)

	codexEnvKey     = text.LazyRegexp(`\benv_key\s*=\s*["']([A-Za-z_][A-Za-z0-9_]*)["']`)
	codexEnvHeaders = text.LazyRegexp(`\benv_http_headers\s*=\s*\{([^}]*)`)
	codexEnvHeader  = text.LazyRegexp(`=\s*["']([A-Za-z_][A-Za-z0-9_]*)["']`)
)

// codexVariables returns the variables that hold the keys and headers of the user's model
// providers, as the configuration names them. A table written over several lines within braces is
// not read.
func codexVariables(look Look) (names []string) {
	add := func(found [][]string) {
		for _, m := range found {
			if !slices.Contains(names, m[1]) {
				names = append(names, m[1])
			}
		}
	}
	var table []string
	for line := range strings.Lines(string(codexConfig(look))) {
		line = tomlPlain().FindString(strings.TrimRight(line, "\r\n"))
		if strings.HasPrefix(strings.TrimSpace(line), "[") {
			table = []string{""} // an array, as long as nothing else is known
			if m := tomlHeading().FindStringSubmatch(line); m != nil {
				table = tomlPath(m[1])
			}
			continue
		}
		if m := tomlKey().FindStringSubmatch(line); m != nil {
			text := codexProviderText(slices.Concat(table, tomlPath(m[1])), m[2])
			add(codexEnvKey().FindAllStringSubmatch(text, -1))
			for _, headers := range codexEnvHeaders().FindAllStringSubmatch(text, -1) {
				add(codexEnvHeader().FindAllStringSubmatch(headers[1], -1))
			}
		}
	}
	return names
}

// codexProviderText writes a setting of a model provider as within braces; "" if it is not one.
func codexProviderText(path []string, value string) string {
	switch {
	case len(path) == 0 || path[0] != "model_providers":
		return ""
	case len(path) == 3:
		return path[2] + "=" + value
	case len(path) == 4:
		return path[2] + "={x=" + value
	}
	return value
}

// tomlPath splits a dotted key.
func tomlPath(key string) []string {
	return text.Mapped(tomlPart().FindAllString(key, -1), func(part string) string { return strings.Trim(part, `"'`) })
}
