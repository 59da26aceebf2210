package probe

import (
	"encoding/json"
	"fmt"
	"strings"
)

// row is how one CLI is made to call a model on this machine.
type row struct {
	set func(place) setting
	// plants are the kinds of things that the setting makes the CLI start by itself: hook, mcp.
	plants []string
	// silent means that the CLI does not report which call it refused: the command just fails.
	silent bool
}

// place is where a CLI finds what it needs.
type place struct {
	home string
	url  string                   // of the local model, up to the scenario
	mark func(kind string) string // the file that a plant leaves behind
}

// setting is what leads a CLI to the local model.
type setting struct {
	env   []string
	files map[string]string // relative to the home folder
	model string
}

// noKey is used where a key is required.
const noKey = "no-key"

// The plants.
const (
	hook = "hook"
	mcp  = "MCP server"
)

var rows = map[string]row{
	"claude":   {claudeSetting, []string{hook, mcp}, false},
	"codex":    {codexSetting, []string{hook, mcp}, true},
	"gemini":   {geminiSetting, []string{hook, mcp}, false},
	"opencode": {opencodeSetting, []string{hook, mcp}, false},
	"qwen":     {qwenSetting, []string{hook, mcp}, false},
	"copilot":  {copilotSetting, []string{hook, mcp}, false},
}

func claudeSetting(p place) setting {
	return setting{
		env: []string{
			"CLAUDE_CONFIG_DIR=" + p.home + "/.claude", "ANTHROPIC_BASE_URL=" + p.url, "ANTHROPIC_API_KEY=" + noKey,
		},
		files: map[string]string{
			".claude/settings.json": text(object{
				"hooks": object{"SessionStart": []object{{"hooks": []object{{"type": "command", "command": p.leave(hook)}}}}},
			}),
			".claude/.claude.json": text(object{
				"hasCompletedOnboarding": true,
				"mcpServers": object{"probe": object{
					"type": "stdio", "command": "sh", "args": []string{"-c", p.leave(mcp)},
				}},
			}),
		},
	}
}

func codexSetting(p place) setting {
	config := []string{
		`model = "scripted-1"`, `model_provider = "probe"`, `notify = ["sh", "-c", ` + text(p.leave(hook)) + `]`,
		`[model_providers.probe]`, `name = "probe"`, `base_url = ` + text(p.url+"/v1"), `env_key = "PROBE_KEY"`,
		`wire_api = "responses"`,
		// A probe works in a folder that codex may write to by default.
		`[sandbox_workspace_write]`, `exclude_slash_tmp = true`, `exclude_tmpdir_env_var = true`,
		// It requests experiments and reports usage, and a run that inherits settings downloads
		// plugins.
		`[analytics]`, `enabled = false`,
		`[features]`, `plugins = false`,
		`[mcp_servers.probe]`, `command = "sh"`, `args = ["-c", ` + text(p.leave(mcp)) + `]`,
	}
	return setting{
		env:   []string{"CODEX_HOME=" + p.home + "/.codex", "PROBE_KEY=" + noKey},
		files: map[string]string{".codex/config.toml": strings.Join(config, "\n") + "\n"},
	}
}

func geminiSetting(p place) setting {
	settings := p.likeGemini("gemini-api-key")
	settings["privacy"] = object{"usageStatisticsEnabled": false}
	return setting{
		env:   []string{"GEMINI_API_KEY=" + noKey, "GOOGLE_GEMINI_BASE_URL=" + p.url},
		files: map[string]string{".gemini/settings.json": text(settings)},
		model: "gemini-2.5-flash", // one of the names that it knows; for others it asks which one to use
	}
}

func qwenSetting(p place) setting {
	return setting{
		env:   []string{"OPENAI_API_KEY=" + noKey, "OPENAI_BASE_URL=" + p.url + "/v1", "OPENAI_MODEL=scripted-1"},
		files: map[string]string{".qwen/settings.json": text(p.likeGemini("openai"))},
	}
}

// likeGemini returns the settings file of the Gemini CLI and its forks.
func (p place) likeGemini(login string) object {
	return object{
		"security":   object{"auth": object{"selectedType": login}, "folderTrust": object{"enabled": false}},
		"general":    object{"disableAutoUpdate": true, "enableAutoUpdate": false},
		"hooks":      object{"SessionStart": []object{{"hooks": []object{{"type": "command", "command": p.leave(hook)}}}}},
		"mcpServers": object{"probe": object{"command": "sh", "args": []string{"-c", p.leave(mcp)}}},
	}
}

func opencodeSetting(p place) setting {
	config := object{
		"provider": object{"probe": object{
			"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": p.url + "/v1", "apiKey": noKey},
			"models": object{"scripted-1": object{"limit": object{"context": 200_000, "output": 8_000}}},
		}},
		"model": "probe/scripted-1", "small_model": "probe/scripted-1", "autoupdate": false, "share": "disabled",
		"mcp": object{"probe": object{"type": "local", "command": []string{"sh", "-c", p.leave(mcp)}, "enabled": true}},
	}
	return setting{
		// A home with a plugin makes it look for the plugin library in a registry that is not
		// there; once is enough.
		env: []string{"npm_config_registry=http://127.0.0.1:9", "npm_config_fetch_retries=0"},
		files: map[string]string{
			".config/opencode/opencode.json": text(config),
			".config/opencode/plugin/probe.js": `import { writeFileSync } from "node:fs"; ` +
				`export const Probe = async () => { writeFileSync(` + text(p.mark(hook)) + `, ""); return {} }` + "\n",
		},
		model: "probe/scripted-1",
	}
}

func copilotSetting(p place) setting {
	return setting{
		env: []string{
			"COPILOT_HOME=" + p.home + "/.copilot", "COPILOT_PROVIDER_BASE_URL=" + p.url + "/v1",
			"COPILOT_PROVIDER_API_KEY=" + noKey, "COPILOT_PROVIDER_TYPE=openai",
			"COPILOT_MODEL=scripted-1", "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false",
		},
		files: map[string]string{
			".copilot/mcp-config.json": text(object{
				"mcpServers": object{"probe": object{
					"type": "local", "command": "sh", "args": []string{"-c", p.leave(mcp)}, "tools": []string{"*"},
				}},
			}),
			".copilot/hooks/probe.json": text(object{
				"version": 1, "hooks": object{"sessionStart": []object{{"type": "command", "bash": p.leave(hook)}}},
			}),
		},
	}
}

// leave returns the command line of a plant.
func (p place) leave(kind string) string { return fmt.Sprintf("echo started > '%s'", p.mark(kind)) }

type object = map[string]any

// text returns a value as JSON, which is also valid for a TOML string.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps, lists and strings
	}
	return string(b)
}
