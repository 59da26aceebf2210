package assembly

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/textfile"
	"github.com/ralphloop/ralph/internal/workspace"
)

// AgentFiles lists what the repository's own files would make an agent CLI run by itself, or let it do beyond its edit mode. It needs consent like any
// command that a repository names; the value is the file's hash, so that a change asks again.
func AgentFiles(ws workspace.Workspace, s config.Settings) []config.NamedCommand {
	var found []config.NamedCommand
	for _, name := range namesUsed(s) {
		found = append(found, filesOf(ws, name)...)
	}
	return found
}

// namesUsed are the agents that a run may start: the one that is named or detected, any one if there is none yet, and those that take over.
func namesUsed(s config.Settings) []string {
	names := []string{s.Agent.Name}
	if s.Agent.Name == "" {
		name, _, ok := agent.Detect(process.LookPath)
		if !ok {
			return config.AgentCLIs
		}
		names[0] = name
	}
	for _, fallback := range append(slices.Clip(s.Agent.Fallback), s.Evaluator.Agent) {
		if name, _, _ := strings.Cut(fallback, ":"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// filesOf looks in the workspace and in every folder above it that is of the same repository: CLIs do, too.
func filesOf(ws workspace.Workspace, agentName string) (found []config.NamedCommand) {
	dialect, ok := agent.Find(agentName)
	if !ok {
		return nil
	}
	for _, dir := range foldersUpTo(ws.Dir, ws.Top()) {
		for _, file := range dialect.About().Repo {
			paths, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(file.Path))) // the pattern is ours
			for _, path := range paths {
				if relative, err := filepath.Rel(ws.Dir, path); err == nil {
					found = append(found, fileCommands(ws, agentName, filepath.ToSlash(relative), file.Keys)...)
				}
			}
		}
	}
	return found
}

// foldersUpTo are dir and the folders above it, up to top.
func foldersUpTo(dir, top string) []string {
	folders := []string{dir}
	for dir != top && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		folders = append(folders, dir)
	}
	if folders[len(folders)-1] != top { // it lies elsewhere
		return folders[:1]
	}
	return folders
}

// fileCommands are the keys of one file that name something to run.
func fileCommands(ws workspace.Workspace, agentName, file string, keys []string) []config.NamedCommand {
	text, err := textfile.Read(ws.Dir, file)
	if errors.Is(err, textfile.ErrEmpty) {
		return nil
	}
	whole := []config.NamedCommand{{Key: agentName + " file", File: file, Line: 1}}
	if err != nil { // the CLI may read what is not read here
		whole[0].Value = hashOf(filepath.Join(ws.Dir, filepath.FromSlash(file)))
		return whole
	}
	hash := sha256.Sum256([]byte(text))
	value := fmt.Sprintf("(sha256 %x)", hash[:8])
	if len(keys) == 0 || strings.Contains(text, `\u`) ||
		strings.Contains(text, `\x`) { // a key that is spelled with escapes is not found
		whole[0].Value = value
		return whole
	}
	var found []config.NamedCommand
	for _, key := range keys {
		word := key
		if strings.HasPrefix(filepath.Ext(file), ".json") {
			word = `"` + key + `"`
		}
		if strings.Contains(text, word) {
			found = append(found, config.NamedCommand{Key: agentName + " " + key, Value: value, File: file, Line: 1})
		}
	}
	return found
}

// hashOf tells one file that is too long to be read from another. What is no file at all has only its reason.
func hashOf(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "(no regular file)"
	}
	hash := sha256.New()
	if err := hashFile(hash, path); err != nil {
		return "(unreadable)"
	}
	return fmt.Sprintf("(sha256 %x)", hash.Sum(nil)[:8])
}

// guarded is an agent that is not started any more once the repository's files would let its CLI do something that nobody agreed to: what one
// iteration writes must not widen what the next one may do.
type guarded struct {
	ralph.Agent
	name   string
	agreed []config.NamedCommand
	now    func() []config.NamedCommand
}

func (g guarded) Run(ctx context.Context, in ralph.AgentInput) (ralph.AgentOutcome, error) {
	for _, c := range g.now() {
		if !slices.Contains(g.agreed, c) {
			return ralph.AgentOutcome{
				Agent: g.name, End: ralph.EndFailed, Hint: "read the file, then ralph resume, which asks whether to trust it",
				Error: fmt.Sprintf("%s was not started: you have not trusted what %s makes it do (%s)", g.name, c.File, c.Key),
			}, nil
		}
	}
	return g.Agent.Run(ctx, in)
}

// guard keeps an agent from what was not agreed to. One that may do everything anyway needs no guard.
func (p *Plan) guard(c chosenAgent) ralph.Agent {
	if c.by != nil {
		return p.workerOf(c)
	}
	runs := agent.New(c.options)
	if c.options.Permissions == agent.PermitAll || len(c.about().Repo) == 0 {
		return runs
	}
	ws, dialect := p.Workspace, c.options.Dialect.Name()
	g := guarded{
		Agent:  runs,
		name:   c.name,
		agreed: p.AgentFiles,
		now:    func() []config.NamedCommand { return filesOf(ws, dialect) },
	}
	if p.Trusting {
		g.agreed = g.now()
	}
	return g
}
