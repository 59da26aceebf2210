//go:build linux

package real

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// How long a plain run of a check, and a run of Ralph, may take.
const (
	patience      = 5 * time.Minute
	ralphPatience = time.Hour
)

// tree is the files of a version, by path.
type tree map[string]file

type file struct {
	text string
	mode fs.FileMode
}

func readTree(dir string) (tree, error) {
	all := tree{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = file{string(text), info.Mode().Perm()&0o111 | 0o644}
		return err
	})
	return all, err
}

func (tr tree) write(dir string) error {
	for name, f := range tr {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f.text), f.mode); err != nil {
			return err
		}
	}
	return nil
}

// testNames are the names of test files and folders in each ecosystem.
var testNames = map[string]*regexp.Regexp{
	"go": regexp.MustCompile(`_test\.go$|(^|/)testdata/`),
	"npm": regexp.MustCompile(`(^|/)(tests?|__tests__|fixtures)/|(^|/)tests?\.[cm]?[jt]s$|` +
		`[._-](test|spec)\.[cm]?[jt]s$`),
	"debian": regexp.MustCompile(`(^|/)(tests?|testing)/|(^|/)(test_[^/]*|[^/]*_tests?|conftest)\.py$|` +
		`(^|/)[^/]*test[^/]*\.(c|sh)$`),
}

func isTest(ecosystem, name string) bool { return testNames[ecosystem].MatchString(name) }

// mix returns the tests of one version with the product of another.
func mix(ecosystem string, tests, product tree) tree {
	mixed := tree{}
	for name, f := range tests {
		if isTest(ecosystem, name) {
			mixed[name] = f
		}
	}
	for name, f := range product {
		if !isTest(ecosystem, name) {
			mixed[name] = f
		}
	}
	return mixed
}

func TestMix(t *testing.T) {
	old := tree{"a.go": {text: "1"}, "a_test.go": {text: "1"}, "testdata/x": {text: "1"}}
	next := tree{"a.go": {text: "2"}, "b.go": {text: "2"}, "a_test.go": {text: "2"}, "b_test.go": {text: "2"}}
	want := tree{"a.go": {text: "2"}, "b.go": {text: "2"}, "a_test.go": {text: "1"}, "testdata/x": {text: "1"}}
	if got := mix("go", old, next); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// world is a scratch project with its user.
type world struct {
	c   *change
	dir string
}

func (w *world) project() string { return filepath.Join(w.dir, "project") }
func (w *world) kit() string     { return filepath.Join(w.dir, "kit") }
func (w *world) state() string   { return filepath.Join(w.dir, "state") }

// counting is a program in front of the real one, which counts runs of the check.
const counting = `#!/bin/sh
case " $* " in *' %s '*) echo "$*" >>'%s';; esac
exec '%s' "$@"
`

func newWorld(c *change) (*world, error) {
	dir, err := os.MkdirTemp(workshop.dir, c.Ecosystem+"-")
	if err != nil {
		return nil, err
	}
	w := &world{c, dir}
	for _, folder := range []string{"project", "home", "tmp", "tools", "kit/next", "counts"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return w, err
		}
	}
	counted, argument := c.runner()
	for name, path := range workshop.mark {
		script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", path)
		if name == counted {
			script = fmt.Sprintf(counting, argument, w.counts(), path)
		}
		if err := os.WriteFile(filepath.Join(dir, "tools", name), []byte(script), 0o755); err != nil {
			return w, err
		}
	}
	if c.Ecosystem != "npm" {
		return w, nil
	}
	modules, err := c.modules()
	if err == nil && modules != "" {
		err = w.must("cp", "-a", filepath.Join(modules, "node_modules"), w.project())
	}
	return w, err
}

// runner returns the program that runs the tests, and the argument by which a run is known.
func (p pack) runner() (name, argument string) {
	words := strings.Fields(strings.Replace(p.check, " -m ", " ", 1)) // python3 -m pytest
	for i, word := range words[:len(words)-1] {
		if slices.Contains(programs, word) {
			return word, words[i+1]
		}
	}
	return "", ""
}

func (w *world) counts() string { return filepath.Join(w.dir, "counts", "runs") }

func (w *world) environ() []string {
	return slices.Concat(workshop.env, []string{
		"HOME=" + filepath.Join(w.dir, "home"), "TMPDIR=" + filepath.Join(w.dir, "tmp"), "LC_ALL=C.UTF-8", "TZ=UTC",
		"PATH=" + filepath.Join(w.dir, "tools") + ":/usr/local/bin:/usr/bin:/bin", "SHELL=/bin/sh", "GOTOOLCHAIN=local",
		"RALPH_STATE_DIR=" + w.state(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	})
}

// ended is a program that has ended.
type ended struct {
	code           int // -1 after a timeout
	stdout, stderr string
	cpu, wall      time.Duration // cpu is of everything that it waited for, too
}

func (w *world) start(limit time.Duration, argv ...string) ended {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	command.Dir, command.Env, command.Stdout, command.Stderr = w.project(), w.environ(), &stdout, &stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second // a process left behind may hold the pipes
	begin := time.Now()
	if err := command.Run(); command.ProcessState == nil {
		return ended{code: -1, stderr: err.Error()}
	}
	state := command.ProcessState
	return ended{
		state.ExitCode(), stdout.String(), stderr.String(), state.UserTime() + state.SystemTime(), time.Since(begin),
	}
}

func (w *world) must(argv ...string) error {
	if run := w.start(patience, argv...); run.code != 0 {
		return fmt.Errorf("%s ended with %d: %s", strings.Join(argv, " "), run.code, run.stdout+run.stderr)
	}
	return nil
}

// fill makes a tree the content of the project. Installed packages stay.
func (w *world) fill(tr tree) error {
	entries, err := os.ReadDir(w.project())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() != "node_modules" {
			if err := os.RemoveAll(filepath.Join(w.project(), entry.Name())); err != nil {
				return err
			}
		}
	}
	return tr.write(w.project())
}

// plain runs the check on a tree, without Ralph.
func (w *world) plain(tr tree) (ended, error) {
	if err := w.fill(tr); err != nil {
		return ended{}, err
	}
	return w.start(patience, "/bin/sh", "-c", w.c.check), nil
}

// bare measures a check on a tree that was checked before.
func (w *world) bare(tr tree) (time.Duration, error) {
	if err := w.fill(tr); err != nil {
		return 0, err
	}
	command := strings.Replace(w.c.check, "go test ", "go test -count=1 ", 1)
	var times []time.Duration
	for range 3 {
		run := w.start(patience, "/bin/sh", "-c", command)
		if run.code != 0 {
			return 0, fmt.Errorf("flaky: %s", lastLine(run.stdout+run.stderr))
		}
		times = append(times, run.cpu)
	}
	slices.Sort(times)
	return times[1], nil
}

// agent is an honest agent. It leaves what is right already alone.
const agent = `cd '%s'
while read -r name; do rm -f "$name"; done <'%s/gone'
cp -R '%s/next/.' .
echo '<promise>COMPLETE</promise>'
`

// prepare commits the old tree, and writes the script of an agent that makes it the new one.
func (w *world) prepare(old, next tree) error {
	work, gone := tree{}, ""
	for name, f := range next {
		if old[name] != f {
			work[name] = f
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, kept := next[name]; !kept {
			gone += name + "\n"
		}
	}
	err := (tree{
		"gone": {gone, 0o644}, "agent.sh": {fmt.Sprintf(agent, w.project(), w.kit(), w.kit()), 0o755},
	}).write(w.kit())
	if err == nil {
		err = work.write(filepath.Join(w.kit(), "next"))
	}
	if err == nil {
		err = w.fill(old)
	}
	for _, command := range [][]string{
		{"git", "init", "-q", "-b", "main"}, {"git", "add", "-A", "-f", "--", ".", ":!node_modules"},
		{"git", "commit", "-q", "-m", "begin"},
	} {
		if err == nil {
			err = w.must(command...)
		}
	}
	return err
}

// ralph runs the program under test, and records how that ended.
func (w *world) ralph() error {
	ralph, err := program()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(w.counts()); err != nil {
		return err
	}
	goal := "Release " + w.c.New + "."
	if w.c.New == "" {
		goal = "Fix the bug in " + w.c.Name + "."
	}
	run := w.start(ralphPatience, ralph, "run", "--json", "-n", "2", "--trust", "--set", "sandbox.read="+w.kit(),
		"--agent-cmd", "sh -eu "+filepath.Join(w.kit(), "agent.sh"), "--check", w.c.check, "--goal", goal)
	counted, _ := os.ReadFile(w.counts())
	w.c.Got, w.c.CPU, w.c.Wall = run.code, run.cpu.Seconds(), run.wall.Seconds()
	w.c.Runs, w.c.log = bytes.Count(counted, []byte("\n")), run.stderr
	w.c.Refused = w.refusals()
	return nil
}

// refusals returns what the last claim was refused for.
func (w *world) refusals() []string {
	var last []string
	files, _ := filepath.Glob(filepath.Join(w.state(), "*", "runs", "*", "events.jsonl"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for line := range bytes.Lines(text) {
			var event struct {
				Type string
				Data struct {
					Refusals []struct{ Code, Detail string }
				}
			}
			if json.Unmarshal(line, &event) != nil || event.Type != "claim_refused" {
				continue
			}
			last = nil
			for _, refusal := range event.Data.Refusals {
				last = append(last, refusal.Code+": "+refusal.Detail)
			}
		}
	}
	return last
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func (w *world) remove() {
	_ = filepath.WalkDir(w.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(w.dir)
}
