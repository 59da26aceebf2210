package agent

import (
	"path/filepath"
	"slices"
	"strings"
)

// Home is what a CLI keeps below the user's home folder.
type Home struct {
	// Change lists what the CLI changes while it works: its login, sessions and caches.
	Change []string
	// Keep lists parts of Change that act on later sessions, such as settings and hooks. In a sandbox the
	// CLI can read them.
	Keep []string
	// Copy lists files that also act on later sessions, but that the CLI has to write. In a sandbox it writes
	// to a copy.
	Copy []string
}

// home returns a Home of one folder, in which some names are kept.
func home(folder string, keep ...string) Home {
	return Home{Change: []string{folder}, Keep: below(folder, keep...)}
}

func below(folder string, names ...string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(folder, name)
	}
	return paths
}

// Words returns the words of a shell's command line, without looking at its grammar.
func Words(commandLine string) []string {
	return strings.FieldsFunc(commandLine, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()'\"`$={}<>", r) })
}

// HomeIn returns what the agents of a command line keep: those whose programs it names.
func HomeIn(commandLine string, env []string) (all Home) {
	words := Words(commandLine)
	for _, d := range Known() {
		about := d.About()
		named := slices.ContainsFunc(words, func(word string) bool { return filepath.Base(word) == about.Program })
		if about.Program != "" && about.Home != nil && named {
			found := about.Home(LookAround(env))
			all.Change = append(all.Change, found.Change...)
			all.Keep = append(all.Keep, found.Keep...)
			all.Copy = append(all.Copy, found.Copy...)
		}
	}
	return all
}

func claudeHome(look Look) Home {
	folder, global := claudeFolder(look) // the file also names the user's servers
	h := home(folder, "settings.json", "settings.local.json", "CLAUDE.md", "agents", "commands", "hooks", "output-styles",
		"plugins", "rules", "skills", "keybindings.json")
	h.Change, h.Copy = append(h.Change, global), []string{global}
	return h
}

func codexKeeps(look Look) Home {
	return home(codexHome(look), "config.toml", "AGENTS.md", "AGENTS.override.md", "hooks.json", "prompts",
		"rules", "skills")
}

func geminiHome(look Look) Home {
	return home(geminiFolder(look), "settings.json", "GEMINI.md", "commands", "extensions", "policies", "skills",
		"trustedFolders.json", ".env")
}

func qwenHome(look Look) Home {
	return home(qwenFolder(look), "settings.json", "QWEN.md", "commands", "extensions", "skills", "agents",
		"trustedFolders.json", ".env")
}

func opencodeHome(look Look) Home {
	config := filepath.Join(look.xdg("XDG_CONFIG_HOME", ".config"), "opencode")
	return Home{Change: []string{
		filepath.Join(look.xdg("XDG_DATA_HOME", ".local/share"), "opencode"),
		filepath.Join(look.xdg("XDG_STATE_HOME", ".local/state"), "opencode"),
		filepath.Join(look.xdg("XDG_CACHE_HOME", ".cache"), "opencode"),
		config,
	}, Keep: below(config, "opencode.json", "opencode.jsonc", "config.json", "AGENTS.md", "agent", "agents", "command",
		"commands", "mode", "modes", "plugin", "plugins", "skill", "skills", "tool", "tools")}
}

func copilotHome(look Look) Home {
	return home(filepath.Join(look.Home, ".copilot"), "mcp-config.json", "agents", "skills", "hooks",
		"copilot-instructions.md")
}

func cursorHome(look Look) Home {
	h := home(filepath.Join(look.Home, ".cursor"), "mcp.json", "hooks.json", "rules", "commands", "cli-config.json")
	h.Change = append(h.Change, filepath.Join(look.xdg("XDG_CONFIG_HOME", ".config"), "cursor"))
	return h
}

func gooseHome(look Look) Home {
	config := filepath.Join(look.xdg("XDG_CONFIG_HOME", ".config"), "goose")
	return Home{Change: []string{
		filepath.Join(look.xdg("XDG_DATA_HOME", ".local/share"), "goose"),
		filepath.Join(look.xdg("XDG_STATE_HOME", ".local/state"), "goose"),
		config,
	}, Keep: below(config, "config.yaml", ".goosehints", "recipes")}
}

func ampHome(look Look) Home {
	config := filepath.Join(look.xdg("XDG_CONFIG_HOME", ".config"), "amp")
	return Home{Change: []string{
		filepath.Join(look.xdg("XDG_DATA_HOME", ".local/share"), "amp"),
		filepath.Join(look.xdg("XDG_CACHE_HOME", ".cache"), "amp"),
		config,
	}, Keep: below(config, "settings.json", "plugins", "AGENTS.md", "AGENT.md")}
}
