//go:build linux && amd64

package faults

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// control is what a run without a fault does and leaves.
type control struct {
	calls    []call
	refusals [][]string        // by iteration
	before   map[string]string // the user's files
	after    []string          // names of all files in the project
	notices  []notice
	index    string // git's index
	head     string
}

const (
	exitUsage = 64
	exitIO    = 74
)

// oracle judges one try. What it finds wrong is in problems.
type oracle struct {
	w        *world
	c        control
	problems []string
}

func (o *oracle) wrong(format string, args ...any) {
	o.problems = append(o.problems, fmt.Sprintf(format, args...))
}

// judge looks at what a run with a fault left, and resumes the run unless it is complete.
func (o *oracle) judge(f fault, run traced, output ended) {
	switch {
	case run.Hung:
		o.wrong("the run did not end within %s", patience)
		return
	case f.kills() && run.Code != -1:
		o.wrong("the run was to be killed, but exited with %d", run.Code)
	case f.kills():
	case run.Code != 0 && run.Code != exitIO:
		o.wrong("the run exited with %d: %s", run.Code, lastLine(output.output()))
	}
	o.noTrace("run", output)
	o.looks()
	end := run.Code
	if end == exitIO && strings.HasPrefix(run.Hit, "ralph write output/stdout ") {
		end = 0 // only what the command prints is lost: the run is complete
	}
	if !f.kills() {
		o.printed(run.Code, output)
		o.recorded(end)
		o.listSaysNoMore(f)
	}
	if end == 0 {
		o.proven("run")
		o.weakensNothing()
	} else {
		o.recovers()
	}
	for pid, line := range o.w.processes() {
		o.wrong("process %d is left: %s", pid, line)
	}
}

// noTrace looks for the trace of a panic.
func (o *oracle) noTrace(what string, e ended) {
	if text := e.output(); strings.Contains(text, "goroutine ") || strings.Contains(text, "panic") {
		o.wrong("%s: %s", what, text)
	}
}

// looks runs the commands that show runs.
func (o *oracle) looks() {
	for _, name := range []string{"status", "runs"} {
		e := o.w.command(name)
		o.noTrace(name, e)
		if e.code != 0 && !knowsNoRun(e) {
			o.wrong("%s exited with %d: %s", name, e.code, lastLine(e.output()))
		}
	}
}

// printed compares the exit code with what the run printed.
func (o *oracle) printed(code int, output ended) {
	if printed, err := readResult(output.stdout); err == nil && printed.ExitCode != nil && *printed.ExitCode != code {
		o.wrong("the run exited with %d and printed %d", code, *printed.ExitCode)
	}
}

// recorded compares how the run ended with what it recorded.
func (o *oracle) recorded(code int) {
	folders := o.w.runs()
	if len(folders) == 0 {
		return
	}
	last := folders[len(folders)-1]
	status := o.w.command("status", "--json", filepath.Base(last))
	if shown, err := readResult(status.stdout); err == nil {
		switch {
		case shown.ExitCode != nil && *shown.ExitCode != code, shown.ExitCode == nil && code == 0:
			o.wrong("the run exited with %d, and status says %s %v", code, shown.Status, show(shown.ExitCode))
		}
		o.blamesNobody("status", shown, code)
	}
	text, err := os.ReadFile(filepath.Join(last, "result.json"))
	if err != nil {
		if code == 0 {
			o.wrong("the run exited with 0: %v", err)
		}
		return
	}
	kept, err := readResult(string(text))
	if err != nil {
		o.wrong("read result.json: %v", err)
		return
	}
	if kept.ExitCode == nil || *kept.ExitCode != code {
		o.wrong("the run exited with %d, and result.json says %v", code, show(kept.ExitCode))
	}
	o.blamesNobody("result.json", kept, code)
}

// listSaysNoMore checks that the user's list does not say done for a task that is not proven. On a
// full disk, it cannot be corrected.
func (o *oracle) listSaysNoMore(f fault) {
	if o.w.s.list == "" || f == noMore {
		return
	}
	text, err := os.ReadFile(filepath.Join(o.w.project(), o.w.s.list))
	shown, _ := readResult(o.w.command("status", "--json").stdout)
	if said := strings.Count(string(text), `"done"`); err != nil || said > shown.Tasks.Done {
		o.wrong("the list says that %d tasks are done, the run %d, %v", said, shown.Tasks.Done, err)
	}
}

// blamesNobody compares the refusals with those of a run without a fault. A fault of the storage is
// no fault of the agent, nor of a check. If the run ended with 74, its last iteration may not have
// been judged.
func (o *oracle) blamesNobody(what string, r result, code int) {
	got, want := r.refusals(), o.c.refusals
	if code != 0 {
		if last := len(got) - 1; last >= 0 && len(got[last]) == 0 {
			got = got[:last]
		}
		want = want[:min(len(got), len(want))]
	}
	if !reflect.DeepEqual(got, want) {
		o.wrong("%s: refusals are %v, without a fault %v", what, got, o.c.refusals)
	}
}

// recovers resumes the run, or starts another one if there is none.
func (o *oracle) recovers() {
	what := "resume"
	e := o.again("resume", "--json", "--trust")
	if knowsNoRun(e) {
		what = "the next run"
		e = o.again(o.w.arguments()...)
	}
	o.noTrace(what, e)
	if e.code != 0 {
		o.wrong("%s exited with %d: %s", what, e.code, lastLine(e.output()))
		return
	}
	o.proven(what)
}

// again runs a command that continues. If git was killed with Ralph, it leaves locks that only the
// user may remove: then the command must refuse to start, and name them.
func (o *oracle) again(args ...string) ended {
	o.w.ageLocks()
	for range 3 {
		e := o.w.command(args...)
		lock := staleLock.FindStringSubmatch(e.output())
		if e.code != exitUsage || lock == nil || os.Remove(lock[1]) != nil {
			return e
		}
	}
	return o.w.command(args...)
}

var staleLock = regexp.MustCompile(`another git process has held (\S+) for \S+; if no git process is running, the lock`)

// weakensNothing compares the notices and warnings of a complete run with those of a run without a
// fault: a check that cannot be made must not be left out.
func (o *oracle) weakensNothing() {
	for _, n := range o.w.notices() {
		usual := slices.ContainsFunc(o.c.notices, func(known notice) bool { return known.Code == n.Code })
		if !usual && !harmless.MatchString(n.Code+": "+n.Text) {
			o.wrong("the run exited with 0 after %s: %s", n.Code, n.Text)
		}
	}
}

// harmless matches notices after which everything was still compared. What is written later makes up
// for an unwritten list.
var harmless = regexp.MustCompile(`^(` + strings.Join([]string{
	"view_left: ", "tasks_unwritable: ", "plain_snapshots: ", "ignored_unknown: ",
	"snapshot_incomplete: the repository's (history is not|branches are not|info/exclude was not)",
}, "|") + `)`)

// knowsNoRun reports whether a command ended because there is no run: no event of it was recorded.
func knowsNoRun(e ended) bool {
	return e.code == exitUsage && strings.Contains(e.output(), "this workspace has no runs")
}

// proven checks that exit 0 means what it says.
func (o *oracle) proven(what string) {
	status := o.w.command("status", "--json")
	r, err := readResult(status.stdout)
	if err != nil {
		o.wrong("%s: read status: %v: %s", what, err, status.output())
		return
	}
	if r.Status != "completed" || r.ExitCode == nil || *r.ExitCode != 0 || !r.Verified {
		o.wrong("%s exited with 0, and status says %s %v, verified %v", what, r.Status, show(r.ExitCode), r.Verified)
	}
	o.refusalsAreKnown(r)
	place := o.w.project()
	if o.w.s.branch {
		place = r.Worktree
	}
	if done := o.w.start(place, "/bin/sh", "-c", o.w.s.proof); done.code != 0 {
		o.wrong("%s exited with 0, and the work is not done", what)
	}
	if again := o.w.command("verify", r.RunID); again.code != 0 {
		o.wrong("verify exited with %d: %s", again.code, again.output())
	}
	o.protectedFilesWereCompared()
	o.userFiles()
	o.repository(place)
}

// refusalsAreKnown checks what a resumed run refused: not more, and nothing else than a run without
// a fault.
func (o *oracle) refusalsAreKnown(r result) {
	known := slices.Concat(o.c.refusals...)
	got := r.refusals()
	for _, refusal := range slices.Concat(got...) {
		if !slices.Contains(known, refusal) {
			o.wrong("refused %s, which a run without a fault does not", refusal)
		}
	}
	if len(got) > len(o.c.refusals) {
		o.wrong("%d iterations counted, without a fault %d", len(got), len(o.c.refusals))
	}
}

// protectedFilesWereCompared looks at the gate of the last verdict: without a snapshot of the base,
// nothing can be compared.
func (o *oracle) protectedFilesWereCompared() {
	var explained struct {
		Verdicts []struct {
			Recorded struct {
				Gates []struct{ Gate, State string }
			}
		}
	}
	e := o.w.command("explain", "--json")
	if err := json.Unmarshal([]byte(e.stdout), &explained); err != nil || len(explained.Verdicts) == 0 {
		o.wrong("explain: %v: %s", err, e.output())
		return
	}
	for _, gate := range explained.Verdicts[len(explained.Verdicts)-1].Recorded.Gates {
		if gate.Gate == "nothing protected was changed" && gate.State == "open" {
			return
		}
	}
	o.wrong("the last verdict did not compare protected files")
}

// userFiles checks that the user's files are as they were, that the list says done, and that
// nothing else is in the project.
func (o *oracle) userFiles() {
	now, err := files(o.w.project())
	if err != nil {
		o.wrong("read project: %v", err)
		return
	}
	if list := o.w.s.list; list != "" {
		if strings.Contains(now[list], "pending") {
			o.wrong("the list does not say done: %s", now[list])
		}
		now[list] = strings.ReplaceAll(now[list], `"done"`, `"pending"`)
	}
	for name, text := range o.c.before {
		if now[name] != text && !slices.Contains(o.w.s.writes, name) {
			o.wrong("%s changed from %q to %q", name, text, now[name])
		}
	}
	for name := range now {
		if !slices.Contains(o.c.after, name) {
			o.wrong("%s is left in the project", name)
		}
	}
	for _, name := range o.c.after {
		if _, is := now[name]; !is && !slices.Contains(informative, name) {
			o.wrong("%s is missing", name)
		}
	}
}

// informative are files that a run can do without.
var informative = []string{".ralph", ".ralph/progress.md", ".ralph/.gitignore"}

// repository checks the user's repository.
func (o *oracle) repository(place string) {
	head, index := o.w.repository()
	if inPlace := o.w.s.commit && !o.w.s.branch; !inPlace && (head != o.c.head || index != o.c.index) {
		o.wrong("the repository changed from %s %s to %s %s", o.c.head, o.c.index, head, index)
	}
	if o.w.s.commit {
		if status := o.w.start(place, "git", "status", "--porcelain"); status.output() != "" {
			o.wrong("not committed: %s", status.output())
		}
	}
	check := o.w.start(o.w.project(), "git", "fsck", "--no-dangling")
	if check.code != 0 || damaged.MatchString(check.output()) {
		o.wrong("git fsck: %s", check.output())
	}
	// A git that is killed before it creates a run's branch may leave its lock. No other run uses it.
	ownRef := filepath.Join(o.w.project(), ".git", "refs", "heads", "ralph") + "/"
	_ = filepath.WalkDir(filepath.Join(o.w.project(), ".git"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") && !strings.HasPrefix(path, ownRef) {
			o.wrong("a lock is left: %s", path)
		}
		return err
	})
}

var damaged = regexp.MustCompile(`(?m)^(error|missing|broken|fatal)`)

// repository returns where HEAD is, and what the index has.
func (w *world) repository() (head, index string) {
	return w.start(w.project(), "git", "rev-parse", "HEAD").stdout, w.start(w.project(), "git", "ls-files", "-s").stdout
}

func show(code *int) any {
	if code == nil {
		return "none"
	}
	return *code
}

// lastLine returns the last line of an output, or the error that it has as JSON.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if strings.Contains(line, `"error": "`) || strings.Contains(line, `"reason": "`) {
			return strings.TrimSpace(line)
		}
	}
	return lines[len(lines)-1]
}
