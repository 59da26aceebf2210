package containment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// sbxAgents are the agents that Docker Sandboxes has images for. Others get a plain one.
var sbxAgents = []string{"claude", "codex", "copilot", "cursor", "gemini", "opencode"}

// MicroVM is a microVM of Docker Sandboxes. Each agent has one in each folder it works in. It outlives runs.
type MicroVM struct {
	Name      string
	Workspace string
	folder    string // what Ralph keeps about it
}

// Files of a MicroVM's folder.
const (
	sharedName    = "shared"    // what the microVM can read of it: prompts and settings of the current command
	workspaceName = "workspace" // the path of its workspace
	usedByName    = "run-"      // followed by a run that worked in it
)

// microVMs are those that a run uses.
type microVMs struct {
	engine
	run   string
	state string
	// begin is the context of the run.
	begin func() context.Context
	mu    sync.Mutex
	count int
}

// openSbx makes a room whose commands run in microVMs. What runs in them ends with this process.
func openSbx(ctx context.Context, o Options) (*Room, error) {
	e, err := newEngine(sandbox.Sbx, o.Env, o.Workspace)
	if err != nil {
		return nil, err
	}
	r, err := newRoom(sandbox.Sbx, o.Run)
	if err != nil {
		return nil, err
	}
	r.sbx = &microVMs{engine: e, run: o.Run, state: o.State, begin: func() context.Context { return ctx }}
	argv := append(process.Shell(endRun), "ralph", e.program, microVMFolder(o.State), o.Run, endCommands)
	if stop, err := process.Accompany(argv, e.env); err == nil {
		r.stop = stop // without it, the next run ends them
	}
	return r, nil
}

func microVMFolder(state string) string { return filepath.Join(state, "sbx") }

// endCommands kills the processes of a microVM that have a certain variable.
const endCommands = `for process in /proc/[0-9]*; do
  tr '\0' '\n' <"$process/environ" 2>/dev/null | grep -qxF "$1" && kill -9 "${process#/proc/}" 2>/dev/null
done
true`

// endRun waits until its input ends, and then ends what a run left in microVMs.
const endRun = `read -r end
for mark in "$2"/*/run-"$3"; do
  [ -e "$mark" ] || continue
  folder=${mark%/*}
  "$1" exec "${folder##*/}" sh -c "$4" ralph "RALPH_RUN_ID=$3" && rm -f "$mark"
done`

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// microVM returns the one of an agent in a workspace. A reviewer, which may change nothing, has its own.
func microVM(state, agent, workspace, role string) MicroVM {
	digest := sha256.Sum256([]byte(workspace))
	plain := func(text string) string {
		return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
	}
	base := plain(filepath.Base(workspace))
	words := []string{"ralph", plain(agent), role, plain(base[:min(len(base), 24)]), hex.EncodeToString(digest[:4])}
	name := strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), "-")
	return MicroVM{Name: name, Workspace: workspace, folder: filepath.Join(microVMFolder(state), name)}
}

// reachSbx says why Docker Sandboxes do not work; nil if they do.
func reachSbx(ctx context.Context, env []string, workspace string) error {
	e, err := newEngine(sandbox.Sbx, env, workspace)
	if err != nil {
		return err
	}
	_, err = e.names(ctx)
	return err
}

// names lists the microVMs of the engine.
func (e engine) names(ctx context.Context) ([]string, error) {
	said, err := e.call(ctx, answerTimeout, "ls", "--json")
	if err != nil {
		return nil, e.unavailable(ctx, err.Error(), sbxFix(err.Error()))
	}
	type listed struct {
		Name string `json:"name"`
	}
	var list struct {
		Sandboxes []listed `json:"sandboxes"`
	}
	// A line about the start of its own daemon may come first. Old versions print a bare list.
	text := said[max(strings.IndexAny(said, "{["), 0):]
	if strings.HasPrefix(text, "[") {
		err = json.Unmarshal([]byte(text), &list.Sandboxes)
	} else {
		err = json.Unmarshal([]byte(text), &list)
	}
	if err != nil {
		return nil, e.unavailable(ctx, "sbx ls --json printed something unknown", "install another version of sbx")
	}
	names := make([]string, len(list.Sandboxes))
	for i, s := range list.Sandboxes {
		names[i] = s.Name
	}
	return names, nil
}

// sbxFix says what helps against a complaint of sbx.
func sbxFix(complaint string) string {
	lower := strings.ToLower(complaint)
	switch {
	case strings.Contains(lower, "unauthorized"), strings.Contains(lower, "not authenticated"),
		strings.Contains(lower, "sbx login"), strings.Contains(lower, "not logged in"):
		return "log in to Docker with: sbx login"
	case strings.Contains(lower, "policy"):
		return "choose a network policy with: sbx policy init"
	}
	return "see what sbx diagnose says"
}

// ReadyMicroVM makes the microVM of an agent work: it creates a missing one, starts a stopped one and
// replaces a broken one, once. The error is an *Unavailable, or the context's.
func ReadyMicroVM(ctx context.Context, place Place, state string, env []string) (MicroVM, error) {
	e, err := newEngine(sandbox.Sbx, env, place.Workspace)
	if err != nil {
		return MicroVM{}, err
	}
	vm := microVM(state, place.Agent, place.Workspace, "")
	return vm, e.ready(ctx, vm, place.Agent, vm.Workspace)
}

// ready makes a microVM work that sees the given folders.
func (e engine) ready(ctx context.Context, vm MicroVM, agent string, folders ...string) error {
	names, err := e.names(ctx)
	if err != nil {
		return err
	}
	if err := vm.keep(); err != nil {
		return err
	}
	create := func() error {
		kind := agent
		if !slices.Contains(sbxAgents, kind) {
			kind = "shell"
		}
		args := []string{"create", "--quiet", "--name", vm.Name, kind}
		args = append(append(args, folders...), filepath.Join(vm.folder, sharedName)+":ro")
		_, err := e.call(ctx, createTimeout, args...)
		return err
	}
	works := func() error { // it starts one that is stopped
		_, err := e.call(ctx, createTimeout, "exec", vm.Name, "true")
		return err
	}
	if slices.Contains(names, vm.Name) {
		if works() == nil {
			return nil
		}
		if _, err := e.call(ctx, answerTimeout, "rm", "--force", vm.Name); err != nil {
			why := "the microVM " + vm.Name + " is broken and cannot be removed: " + err.Error()
			return e.unavailable(ctx, why, sbxFix(why))
		}
	}
	err = create()
	if err == nil {
		err = works()
	}
	if err != nil {
		return e.unavailable(ctx, "the microVM "+vm.Name+" cannot be created: "+err.Error(), sbxFix(err.Error()))
	}
	return nil
}

// keep records a microVM and when it was last used.
func (vm MicroVM) keep() error {
	if err := os.MkdirAll(filepath.Join(vm.folder, sharedName), 0o700); err != nil {
		return fmt.Errorf("record microVM: %w", err)
	}
	if err := os.WriteFile(filepath.Join(vm.folder, workspaceName), []byte(vm.Workspace), 0o600); err != nil {
		return fmt.Errorf("record microVM: %w", err)
	}
	return nil
}

// enter makes a command run in the microVM of its agent. If that does not work, the command only says so.
func (m *microVMs) enter(s *process.Spec, place Place) {
	ctx := m.begin()
	vm, folders := microVM(m.state, place.Agent, place.Workspace, ""), []string{place.Workspace}
	if s.Enclosure != nil { // a view, which only this machine can mount
		vm, folders[0] = microVM(m.state, place.Agent, place.Workspace, "review"), place.Workspace+":ro"
		s.Enclosure = nil
	}
	err := m.ready(ctx, vm, place.Agent, folders...)
	if err == nil {
		err = touch(filepath.Join(vm.folder, usedByName+m.run))
	}
	var shared string
	if err == nil {
		shared, err = m.share(s, vm)
	}
	if err != nil {
		const engineFailed = `echo "$1" >&2; exit 125`
		s.Argv = append(process.Shell(engineFailed), "ralph", err.Error())
		return
	}
	mark := "RALPH_SBX_COMMAND=" + filepath.Base(shared)
	env := append(withoutHome(withoutTools(s.Env), place), mark)
	wall := sandbox.Wall{Box: sandbox.Box{Name: vm.Name}}
	command := sandbox.Sbx.Enclose(sandbox.Command{Argv: s.Argv, Dir: s.Dir, Env: env}, wall)
	s.Argv, s.Dir, s.Env = command.Argv, command.Dir, slices.Concat(m.env, command.Env)
	s.Argv[0] = m.program
	s.Ended = func(ctx context.Context, result *process.Result) {
		_, err := m.call(ctx, answerTimeout, "exec", vm.Name, "sh", "-c", endCommands, "ralph", mark)
		if err != nil {
			result.Unkillable++
			result.Survivors++
			result.SurvivorNames = append(result.SurvivorNames, "microVM "+vm.Name)
		}
		_ = os.RemoveAll(shared)
	}
}

// share copies what Ralph made for a command to where the microVM can read it, and returns the folder.
func (m *microVMs) share(s *process.Spec, vm MicroVM) (string, error) {
	m.mu.Lock()
	m.count++
	folder := filepath.Join(vm.folder, sharedName, fmt.Sprintf("%s-%d-%d", m.run, os.Getpid(), m.count))
	m.mu.Unlock()
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", fmt.Errorf("share files with a microVM: %w", err)
	}
	for i, from := range s.Needs {
		to := filepath.Join(folder, fmt.Sprint(i))
		if err := copyFiles(from, to); err != nil {
			_ = os.RemoveAll(folder)
			return "", fmt.Errorf("share files with a microVM: %w", err)
		}
		moved := func(text string) string { return strings.ReplaceAll(text, from, to) }
		s.Argv, s.Env = slices.Clone(s.Argv), slices.Clone(s.Env)
		for j := range s.Argv {
			s.Argv[j] = moved(s.Argv[j])
		}
		for j := range s.Env {
			s.Env[j] = moved(s.Env[j])
		}
	}
	return folder, nil
}

// copyFiles copies the files of a folder, with paths in them as they are in the copy.
func copyFiles(from, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), "agent.") { // what the agent says
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			return err
		}
		text = []byte(strings.ReplaceAll(string(text), from, to))
		if err := os.WriteFile(filepath.Join(to, entry.Name()), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// withoutHome leaves out variables that name something in the user's home, which a microVM does not see.
func withoutHome(env []string, place Place) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		_, value, _ := strings.Cut(entry, "=")
		return isWithin(value, place.Home) && !isWithin(value, place.Workspace)
	})
}

// EndInMicroVMs ends what a run that is not running left in microVMs.
func EndInMicroVMs(ctx context.Context, run, state, workspace string, env []string) error {
	marks, _ := filepath.Glob(filepath.Join(microVMFolder(state), "*", usedByName+run))
	if len(marks) == 0 {
		return nil
	}
	e, err := newEngine(sandbox.Sbx, env, workspace)
	if err != nil {
		return nil // nothing runs without it
	}
	for _, mark := range marks {
		name := filepath.Base(filepath.Dir(mark))
		_, err := e.call(ctx, createTimeout, "exec", name, "sh", "-c", endCommands, "ralph", "RALPH_RUN_ID="+run)
		if err != nil {
			return fmt.Errorf("end processes of run %s in microVM %s: %w", run, name, err)
		}
		if err := os.Remove(mark); err != nil {
			return fmt.Errorf("end processes of run %s: %w", run, err)
		}
	}
	return nil
}
