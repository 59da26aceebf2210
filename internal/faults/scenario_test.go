//go:build linux && amd64

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// scenario is a run of three iterations: its first claim is refused, its last one is proven.
type scenario struct {
	name   string
	setup  string   // creates the project
	dirty  string   // changes it after the commit
	agent  string   // one iteration
	args   []string // of ralph run
	proof  string   // exits with 0 if the work is done
	list   string   // the task list
	writes []string // files that the agent changes
	commit bool     // the work is committed
	branch bool     // the work is on a branch, in a worktree
}

// The agents look at what is there, so that they can also work after a kill.
const (
	threeLines = `echo 'test "$(wc -l <answer)" -eq 3' >check.sh
: >answer`
	addLine = `cat >/dev/null
test "$(wc -l <answer)" -ge 3 || echo line >>answer
echo '<promise>COMPLETE</promise>'`

	threeTasks = `cat >check.sh <<'END'
for part in "$@"; do
	test "$(cat "$part")" = right || exit 1
done
END
for part in one two three; do echo wrong >$part; done
mkdir .ralph
cat >.ralph/tasks.json <<'END'
{"version": 1, "tasks": [
  {"id": "T1", "title": "Right one", "checks": ["sh check.sh one"], "status": "pending"},
  {"id": "T2", "title": "Right two", "checks": ["sh check.sh two"], "status": "pending"},
  {"id": "T3", "title": "Right three", "depends_on": ["T1"], "checks": ["sh check.sh three"], "status": "pending"}
]}
END`
	workOnTasks = `cat >/dev/null
if ! test -e begun; then
	echo yes >begun
	echo '<promise>T1:DONE</promise>'
elif test "$(cat two)" != right; then
	echo right >one
	echo right >two
	printf '<promise>%s:DONE</promise>\n' T1 T2
else
	echo right >three
	printf '<promise>%s:DONE</promise>\n' T1 T2 T3
fi`

	uncommitted = `echo changed >>kept
echo staged >staged
git add staged
echo new >untracked`
)

var scenarios = []scenario{
	{
		name: "goal", setup: threeLines, dirty: uncommitted, agent: addLine, proof: "sh check.sh", writes: []string{"answer"},
		args: []string{"--check", "sh check.sh", "--goal", "Write three lines."},
	},
	{
		name: "list", setup: threeTasks, agent: workOnTasks, proof: "sh check.sh one two three", list: ".ralph/tasks.json",
		writes: []string{"begun", "one", "two", "three"}, commit: true, args: []string{"--commit", "task"},
	},
	{
		name: "worktree", setup: threeLines, dirty: uncommitted, agent: addLine, proof: "sh check.sh", commit: true,
		branch: true, args: []string{"--worktree", "--check", "sh check.sh", "--goal", "Write three lines."},
	},
}

// outputFolder is where Ralph's output goes, inside a world.
const outputFolder = "output"

// template creates the folder that every world of a scenario is a copy of.
func (s scenario) template(dir string) error {
	for _, folder := range []string{"project", "home", "tmp", outputFolder} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "agent.sh"), []byte(s.agent+"\n"), 0o600); err != nil {
		return err
	}
	w := &world{s: s, dir: dir}
	script := strings.Join([]string{
		"git init -q -b main", "echo kept >kept", "echo ignored >.gitignore", "echo secret >ignored", s.setup,
		"git add -A", "git commit -q -m begin", s.dirty,
	}, "\n")
	if run := w.start(w.project(), "/bin/sh", "-euc", script); run.code != 0 {
		return fmt.Errorf("set up %s: exit %d\n%s", s.name, run.code, run.output())
	}
	return nil
}

// arguments returns the arguments of `ralph run`.
func (w *world) arguments() []string {
	return append([]string{
		"run", "--json", "--trust", "-n", "8", "--agent-cmd", "sh " + filepath.Join(w.dir, "agent.sh"),
	}, w.s.args...)
}
