package protect

import (
	"path"
	"slices"
	"strings"
)

// Files and folders that agent CLIs read on startup as instructions, settings or hooks.
var (
	agentFiles = strings.Fields(`
		AGENTS.md AGENTS.override.md AGENT.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md CONVENTIONS.md
		.cursorrules .goosehints .mcp.json opencode.json opencode.jsonc .aider.conf.yml
		copilot-instructions.md`)
	agentFolders = strings.Fields(".claude .codex .gemini .qwen .opencode .cursor .amp .goose .agents")
)

// IsAgentFile reports whether agent CLIs read a file on startup.
func IsAgentFile(name string) bool {
	isOne := func(folder string) bool { return slices.Contains(agentFolders, folder) }
	return slices.Contains(agentFiles, path.Base(name)) || slices.ContainsFunc(strings.Split(path.Dir(name), "/"), isOne)
}
