package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/runlog"
)

// reader collects what commands print about one workspace.
type reader struct {
	recording *recording
	ask       commandRunner
	workspace string
	steady    *strings.Replacer
	all       []commandOutput
}

// read runs every reading command on every workspace of a recording and every run in it.
func (r *recording) read(t *testing.T, ask commandRunner) []commandOutput {
	t.Helper()
	var all []commandOutput
	for _, name := range r.workspaces {
		reader := r.reader(name, ask)
		reader.readWorkspace()
		store, err := runlog.Open(r.stateDir(), r.workspace(name))
		if err != nil {
			t.Fatal(err)
		}
		entries, _ := os.ReadDir(filepath.Join(store.Dir(), "runs")) // there may be none
		for _, entry := range entries {
			if r.brief[entry.Name()] {
				reader.readBriefly(store, entry.Name())
				continue
			}
			reader.readRun(t, store, entry.Name())
		}
		all = append(all, reader.all...)
	}
	return all
}

func (r *recording) reader(workspace string, ask commandRunner) *reader {
	id := runlog.WorkspaceID(r.workspace(workspace))
	return &reader{
		recording: r, ask: ask, workspace: workspace, steady: strings.NewReplacer(id, workspace+"-ID", r.root, "$ROOT"),
	}
}

// runFull runs a command and keeps its full output.
func (r *reader) runFull(args ...string) { r.run(true, r.recording.env(""), args) }

// runHashed runs a command and keeps a hash of its output, for long output that repeats what
// another command shows in full.
func (r *reader) runHashed(args ...string) { r.run(false, r.recording.env(""), args) }

func (r *reader) run(full bool, env, args []string) {
	stdout, stderr, code := r.ask(env, append([]string{"-C", r.recording.workspace(r.workspace)}, args...)...)
	text := r.steady.Replace(withNewline(stdout))
	if stderr != "" {
		text += "[stderr]\n" + r.steady.Replace(withNewline(stderr))
	}
	// the space that files take depends on the disk, and the width of columns on that and on paths
	if args[0] == "runs" {
		text = diskSpace.ReplaceAllString(blanks.ReplaceAllString(text, "  "), "${1}SIZE")
	}
	r.all = append(r.all, commandOutput{
		name: fmt.Sprintf("%s: %s: exit %d", r.workspace, strings.Join(args, " "), code), text: text, full: full,
	})
}

var (
	blanks    = regexp.MustCompile(` {2,}`)
	diskSpace = regexp.MustCompile(`("size_bytes": *)\d+|\b\d+(\.\d+)? [KMG]?B\b`)
)

// withNewline adds the final newline that a txtar file needs, without making two texts the same.
func withNewline(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return text + "\n[no newline]\n"
	}
	return text
}

// readWorkspace runs the commands that do not belong to one run.
func (r *reader) readWorkspace() {
	r.runFull("runs")
	r.runHashed("runs", "--json")
	r.runFull("tasks", "list")
	r.runHashed("tasks", "list", "--json")
	r.runHashed("tasks", "lint")
	r.runFull("learnings")
	r.runHashed("learnings", "--json")
	show := r.runHashed
	if _, err := os.Stat(filepath.Join(r.recording.workspace(r.workspace), ".ralph", "config.yaml")); err == nil {
		show = r.runFull
	}
	show("config", "show")
	r.runHashed("config", "show", "--json")
}

// rulesToReplay are the "what if" questions for every run.
var rulesToReplay = [][]string{
	{"gate.unfinished=refuse", "gate.status=required", "gate.tamper=stop", "gate.test_change=refuse"},
	{"gate.claim=optional", "gate.status=off", "gate.unfinished=off", "allow_unverified=true"},
	{"max_iterations=1", "breaker.no_progress=1", "breaker.diagnose=false", "tasks.max_tries=1"},
}

// readRun runs every command about one run.
func (r *reader) readRun(t *testing.T, store *runlog.Store, run string) {
	t.Helper()
	r.runFull("explain", run)
	r.runHashed("explain", run, "--json")
	r.runFull("replay", run)
	r.runHashed("replay", run, "--json")
	for _, rules := range rulesToReplay {
		args := []string{"replay", run}
		for _, rule := range rules {
			args = append(args, "--set", rule)
		}
		r.runHashed(args...)
		r.runHashed(append(args, "--json")...)
	}
	r.runFull("status", run)
	r.runHashed("status", run, "--json")
	r.runFull("logs", run)
	r.runHashed("logs", run, "--json")
	r.runFull("report", run)
	r.runHashed("report", run, "--json")
	iterations := 0
	if state, err := recordedState(store, run); err == nil {
		iterations = len(state.Iterations)
	}
	for n := 1; n <= iterations; n = nextIteration(n, iterations) {
		r.runHashed("explain", run, "--iteration", strconv.Itoa(n))
		r.runHashed("explain", run, "--iteration", strconv.Itoa(n), "--json")
	}
	r.readTrees(t, store, run, iterations)
	r.all = append(r.all, commandOutput{
		name: fmt.Sprintf("%s: fold of %s", r.workspace, run), text: r.steady.Replace(foldedRun(store, run)), full: true,
	})
}

// readBriefly does the same for a run that has nothing new, and keeps only hashes.
func (r *reader) readBriefly(store *runlog.Store, run string) {
	r.runHashed("explain", run, "--json")
	r.runHashed("explain", run)
	r.runHashed("status", run, "--json")
	r.runHashed("logs", run)
	r.runHashed("report", run)
	r.all = append(r.all, commandOutput{
		name: fmt.Sprintf("%s: fold of %s", r.workspace, run), text: r.steady.Replace(foldedRun(store, run)),
	})
}

// nextIteration goes from the first iteration to the second, and from there to the last.
func nextIteration(n, last int) int {
	if n >= 2 && n < last {
		return last
	}
	return n + 1
}

// readTrees shows what a run changed, if its snapshots were kept.
func (r *reader) readTrees(t *testing.T, store *runlog.Store, run string, iterations int) {
	t.Helper()
	kept, err := filepath.Glob(filepath.Join(store.Dir(), "*", "*.snapshots.git"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(store.SnapshotsOf(nil)); err != nil && len(kept) == 0 {
		return
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	env := r.recording.env(filepath.Dir(git))
	r.run(true, env, []string{"diff", run})
	for n := 1; n <= iterations; n = nextIteration(n, iterations) {
		r.run(true, env, []string{"diff", run, strconv.Itoa(n)})
	}
	r.run(true, env, []string{"diff", run, "--task", "T-2"})
	r.run(true, env, []string{"diff", run, "--json"})
}

// readSettings shows configurations that are in no file, and the schemas.
func (r *recording) readSettings(t *testing.T, ask commandRunner) []commandOutput {
	t.Helper()
	if err := os.MkdirAll(r.workspace("empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	reader := r.reader("empty", ask)
	for _, format := range []string{"config", "tasks", "event", "result"} {
		reader.runFull("schema", format)
	}
	for _, profile := range []string{"default", "promise", "case", "checks", "status", "goal"} {
		reader.runFull("config", "show", "--profile", profile)
		reader.runHashed("config", "show", "--profile", profile, "--json")
	}
	environment := r.env("", "RALPH_MAX_ITERATIONS=4", "RALPH_CHECKS__COMMANDS=make test", "RALPH_BREAKER__COOLDOWN=5m",
		"RALPH_NOT_A_KEY=1",
		"TILTH_MAX_TURNS_PER_TASK=9", "MAX_EVALUATOR_CALLS_PER_TASK=2", "ANTHROPIC_API_KEY=none")
	reader.run(true, environment, []string{"config", "show", "--set", "gate.claim=optional", "--once"})
	reader.run(true, environment, []string{
		"config", "show", "--profile", "case", "--fallback", "codex:gpt-5", "--fallback", "claude",
	})
	for _, wrong := range []string{
		"max_iterations=many", "max_iteration=3", "gate.claim=maybe", "tasks.on_failure=rety:1", "checks.timeout=-1",
		"prices=free",
	} {
		reader.runFull("config", "show", "--set", wrong)
		reader.runFull("config", "show", "--set", wrong, "--json")
	}
	return reader.all
}
