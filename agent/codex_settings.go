package agent

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// codexAlone are the flags that keep the user's own hooks, notifier, plugins, connectors and MCP servers out of a run. The rest of the user's
// settings stays: they hold the model's provider, without which there may be no login. A feature that a version does not know is an error after
// --disable, and none in this form.
//
// An empty table of servers would change nothing, for tables are merged (openai/codex#16045), so that every server is switched off by its name. The
// user's AGENTS.md and skills cannot be left out without the login. Seen with version 0.166.
func codexAlone(look Look) []string {
	flags := []string{"-c", "features.hooks=false", "-c", "notify=[]", "-c", "features.plugins=false", "-c", "features.apps=false", "-c", "analytics.enabled=false"}
	var off []string
	for _, name := range codexServers(look) {
		off = append(off, name+"={enabled=false}")
	}
	if off != nil {
		flags = append(flags, "-c", "mcp_servers={"+strings.Join(off, ",")+"}")
	}
	return flags
}

// codexServerLine is the heading of a server's table, or a key of it. Servers within one inline table are not found.
var codexServerLine = regexp.MustCompile(`(?m)^[ \t]*(?:\[[ \t]*)?mcp_servers[ \t]*\.[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*[.\]=]`)

// codexServers are the MCP servers of the user's configuration, as they are written there.
func codexServers(look Look) []string {
	if look.File == nil {
		return nil
	}
	config, _ := look.File(filepath.Join(codexHome(look), "config.toml"))
	var names []string
	for _, m := range codexServerLine.FindAllSubmatch(config, -1) {
		if name := string(m[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func codexHome(look Look) string {
	if own := look.Env("CODEX_HOME"); own != "" {
		return own
	}
	return filepath.Join(look.Home, ".codex")
}
