package assembly

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
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

// AgentFiles lists what files of the repository make an agent CLI run by itself, or let it do
// beyond its edit mode. Each needs consent, like any command that a repository names, whatever the
// run's own permissions and settings are. The value has the file's hash, so Ralph asks again when
// the file changes.
func AgentFiles(ws workspace.Workspace, s config.Settings) []config.NamedCommand {
	var found []config.NamedCommand
	for _, name := range agentNames(s) {
		found = append(found, findAgentFiles(ws, name)...)
	}
	return found
}

// agentNames returns the agents that a run may start: the named or detected one, all of them if
// none is found yet, the fallbacks, the evaluator and the author of tests.
func agentNames(s config.Settings) []string {
	names := []string{s.Agent.Name}
	if s.Agent.Name == "" {
		name, _, ok := agent.Detect(process.LookPath)
		if !ok {
			return config.AgentCLIs
		}
		names[0] = name
	}
	for _, fallback := range append(slices.Clip(s.Agent.Fallback), s.Evaluator.Agent, s.Tests.By) {
		if name, _, _ := strings.Cut(fallback, ":"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// findAgentFiles looks in the workspace and in every folder above it in the same repository,
// because CLIs do the same.
func findAgentFiles(ws workspace.Workspace, agentName string) (found []config.NamedCommand) {
	dialect, ok := agent.Find(agentName)
	if !ok {
		return nil
	}
	for _, dir := range foldersUpTo(ws.Dir, ws.Top()) {
		for _, file := range dialect.About().Repo {
			for _, path := range matches(dir, file.Path) {
				if relative, err := filepath.Rel(ws.Dir, path); err == nil {
					found = append(found, fileCommands(ws, agentName, filepath.ToSlash(relative), file)...)
				}
			}
		}
	}
	return found
}

// matches returns the files that match a pattern of ours.
func matches(dir, pattern string) (paths []string) {
	folder, all := strings.CutSuffix(filepath.Join(dir, filepath.FromSlash(pattern)), string(filepath.Separator)+"**")
	if !all {
		paths, _ = filepath.Glob(folder) // our own pattern: no error
		return paths
	}
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() { // a link to a folder counts as a file that cannot be read
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

// foldersUpTo returns dir and the folders above it, up to top. If top is not above dir, it returns
// only dir.
func foldersUpTo(dir, top string) []string {
	folders := []string{dir}
	for dir != top && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		folders = append(folders, dir)
	}
	if folders[len(folders)-1] != top {
		return folders[:1]
	}
	return folders
}

// fileCommands returns what one file makes a CLI run, or lets it do.
func fileCommands(ws workspace.Workspace, agentName, name string, file agent.RepoFile) (found []config.NamedCommand) {
	text, err := textfile.Read(ws.Dir, name)
	if errors.Is(err, textfile.ErrEmpty) {
		return nil
	}
	if err != nil { // the CLI may read a file that we cannot
		hash := hashOf(filepath.Join(ws.Dir, filepath.FromSlash(name)))
		return []config.NamedCommand{{Key: agentName + " file", Value: hash, File: name, Line: 1}}
	}
	hash := sha256.Sum256([]byte(text))
	for _, e := range file.Effects(agentName, name, text) {
		value := strings.TrimSpace(fmt.Sprintf("%s (sha256 %x)", e.Value, hash[:8]))
		key := agentName + " " + cmp.Or(e.Key, "file")
		found = append(found, config.NamedCommand{Key: key, Value: value, File: name, Line: 1})
	}
	return found
}

// hashOf identifies a file that is too long to read. For anything but a readable regular file, it
// returns a reason instead of a hash.
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

// guardedAgent is an agent that no longer starts once files of the repository would let its CLI do
// something that the user has not agreed to. What one iteration writes must not widen what the next
// one may do.
type guardedAgent struct {
	ralph.Agent
	name   string
	agreed []config.NamedCommand
	now    func() []config.NamedCommand
}

func (g guardedAgent) Run(ctx context.Context, in ralph.AgentInput) (ralph.AgentOutcome, error) {
	for _, c := range g.now() {
		if !slices.Contains(g.agreed, c) {
			return ralph.AgentOutcome{
				Agent: g.name, End: ralph.EndFailed, Hint: "read the file, then ralph resume, which asks whether to trust it",
				Error: fmt.Sprintf(
					"%s was not started: you have not trusted %s, which changes what it runs (%s)", g.name, c.File, c.Key,
				),
			}, nil
		}
	}
	return g.Agent.Run(ctx, in)
}

// guard wraps an agent in a guardedAgent. An agent that may do everything is guarded as well: hooks
// and servers run without the agent.
func (p *Plan) guard(c chosenAgent) ralph.Agent {
	if c.by != nil {
		return p.builtIn(c)
	}
	runs := agent.New(c.options)
	if len(c.about().Repo) == 0 {
		return runs
	}
	ws, dialect := p.Workspace, c.options.Dialect.Name()
	g := guardedAgent{
		Agent:  runs,
		name:   c.name,
		agreed: p.AgentFiles,
		now:    func() []config.NamedCommand { return findAgentFiles(ws, dialect) },
	}
	if p.Trusting {
		g.agreed = g.now()
	}
	return g
}
