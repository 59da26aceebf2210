package assembly

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
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
// none is found yet, the fallbacks, the one that takes over, the evaluator and the author of tests.
func agentNames(s config.Settings) []string {
	first := s.Agent.Name
	if first == "" {
		name, _, ok := agent.Detect(process.LookPath)
		if !ok {
			return config.AgentCLIs
		}
		first = name
	}
	var names []string
	for _, name := range append([]string{first, s.Agent.Escalate, s.Evaluator.Agent, s.Tests.By}, s.Agent.Fallback...) {
		if name, _, _ = strings.Cut(name, ":"); !slices.Contains(names, name) {
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
			for _, path := range matches(dir, file) {
				if relative, err := filepath.Rel(ws.Dir, path); err == nil {
					found = append(found, fileCommands(ws, agentName, filepath.ToSlash(relative), file)...)
				}
			}
		}
	}
	return found
}

// matches returns the files in a folder that match a pattern of ours, and links to folders.
func matches(dir string, file agent.RepoFile) (paths []string) {
	below, all := file.Below()
	if !all {
		names, _ := fs.Glob(os.DirFS(dir), file.Path) // our own pattern: no error
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, filepath.FromSlash(name)))
		}
		return paths
	}
	_ = filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(below)), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && (file.Reads(e.Name()) || isFolder(path)) {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
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
		hash := hashOf(filepath.Join(ws.Dir, filepath.FromSlash(name)), file)
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

// hashOf identifies a file that is too long to read, or everything in a folder from which the CLI
// reads all files. For anything else, it returns a reason instead of a hash.
func hashOf(path string, file agent.RepoFile) string {
	sum := &folderSum{Hash: sha256.New()}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Mode().IsRegular():
		err = hashFile(sum, path)
	case err == nil && info.IsDir() && strings.Contains(file.Path, "/*"):
		err = sum.add(path, 0)
	default:
		return "(no regular file)"
	}
	if err != nil {
		return "(unreadable)"
	}
	return fmt.Sprintf("(sha256 %x)", sum.Sum(nil)[:8])
}

// Limits of what is read of a folder. Of larger and further files only sizes and times count, and
// beyond ten times as many entries nothing does: no CLI reads that many.
const (
	folderFiles    = 10_000
	folderFileSize = 16 << 20
	folderDepth    = 16 // a link may lead back
)

// folderSum hashes a folder, through links.
type folderSum struct {
	hash.Hash
	entries int
}

func (s *folderSum) add(path string, depth int) error {
	info, err := os.Stat(path)
	if s.entries++; err != nil || s.entries > 10*folderFiles {
		return nil //nolint:nilerr // a link to nothing does nothing
	}
	fmt.Fprintf(s, "%q %s\n", filepath.Base(path), info.Mode().Type())
	switch {
	case info.IsDir() && depth < folderDepth:
		entries, err := os.ReadDir(path)
		for _, e := range entries {
			err = cmp.Or(err, s.add(filepath.Join(path, e.Name()), depth+1))
		}
		return err
	case info.Mode().IsRegular() && s.entries <= folderFiles && info.Size() <= folderFileSize:
		return hashFile(s, path)
	case info.Mode().IsRegular():
		fmt.Fprintln(s, info.Size(), info.ModTime().UnixNano())
	}
	return nil
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

// CallsTools implements ralph.ToolCaller.
func (g guardedAgent) CallsTools() bool {
	caller, ok := g.Agent.(ralph.ToolCaller)
	return ok && caller.CallsTools()
}

// guard wraps an agent in a guardedAgent. An agent that may do everything is guarded as well: hooks
// and servers run without the agent.
func (p *Plan) guard(c chosenAgent) ralph.Agent {
	p.Walls.enclose(&c, placeOf(p, c))
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
