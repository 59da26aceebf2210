package agent

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ralphloop/ralph/agent/internal/stream"
)

// codex is Codex, run without a terminal. It was written against and recorded from version 0.166.
type codex struct{}

func (codex) Name() string { return "codex" }

func (codex) About() About {
	return About{
		Title: "Codex", Program: "codex", Meters: Meters{Tokens: true, Live: true, Windows: true}, Proven: ProvenByRuns,
		MCP:        true,
		ShowsTools: true,
		EditMode:   "edits files and runs commands in its own sandbox, without network",
		ReadMode: "runs commands in its own sandbox, read-only and without network; runs none if that sandbox " +
			"cannot start",
		Env:          []string{"OPENAI_*", "CODEX_*"},
		EnvOf:        codexVariables,
		ModelOf:      func(look Look) string { return codexTop(codexConfig(look), "model") },
		Own:          codexOwn,
		Reserved:     []string{"--json", "-o", "--output-last-message"},
		Resumes:      []string{"resume", "fork"},
		Conversation: func(session string) []string { return []string{"resume", session} },
		Login:        Login{Args: []string{"login"}, Hint: codexLogin},
		Account:      codexAccount,
		Home:         codexKeeps,
		// github.com/openai/codex, issues 31697, 31740, 31746 and 31831.
		Broken: []BrokenVersion{{
			First: "0.143.0",
			Fixed: "0.144.1",
			Why:   "every tool call fails (unsupported call), or a helper program is missing",
		}},
		// All of these count even in an untrusted folder. The configuration changes the limits of
		// the sandbox (network, folders, variables), and a command that a rule allows runs outside
		// it.
		Repo: []RepoFile{
			{".codex/config.toml", nil}, {".codex/hooks.json", nil}, {".codex/rules/*", nil}, {".codex/agents/*", nil},
		},
	}
}

func (codex) ownFolder(look Look) string { return codexHome(look) }

func (codex) newReader(r *stream.Reading) stream.Reader {
	return newEventReader(r, &codexStream{Reading: r})
}

// codexLogin is the hint for a failed login.
const codexLogin = "run `codex login`, or set the API key variable that its configuration names"

func (codex) Command(r Request) (Command, error) {
	argv := []string{cmp.Or(r.Program, "codex"), "exec", "--json", "--skip-git-repo-check"}
	argv = append(argv, r.model("-m")...)
	switch r.Permissions {
	case PermitAll:
		argv = append(argv, "--dangerously-bypass-approvals-and-sandbox")
	case PermitReading:
		// A command that a rule allows would run outside the sandbox, and the reviewed agent may
		// have written AGENTS.md.
		argv = append(
			argv, "--sandbox", "read-only", "--ignore-rules", "-c", "approval_policy=never", "-c",
			"project_doc_max_bytes=0",
		)
		if filepath.IsAbs(r.Dir) { // or its servers, which count if the user trusts the folder
			argv = append(argv, "-c", "projects={"+quotedString(r.Dir)+`={trust_level="untrusted"}}`)
		}
	default:
		argv = append(argv, codexSandbox(r.Look)...)
	}
	if !r.InheritSettings || r.Permissions == PermitReading { // servers are outside the sandbox
		argv = append(argv, codexAlone(r.Look)...)
	}
	argv = slices.Concat(argv, codexTools(r), r.ExtraArgs)
	return Command{Argv: append(argv, "-"), Stdin: r.PromptFile}, nil
}

// codexTools returns the flag for the server of the run's tools. The CLI passes only the variables that
// it names, and without a mode it would cancel each call, because there is no one to approve it.
func codexTools(r Request) []string {
	if r.Tools == "" {
		return nil
	}
	return []string{"-c", fmt.Sprintf(
		`mcp_servers.%s={command=%s,args=["mcp"],env_vars=%s,enabled=true,startup_timeout_sec=30,tool_timeout_sec=%d,`+
			`default_tools_approval_mode="approve"}`,
		toolServer, quotedString(r.Tools), jsonText(toolVariables), toolSeconds,
	)}
}
