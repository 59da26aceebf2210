//go:build linux

package cheats

import (
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// newGround is the kind of the attacks in testdata/newground, which are counted apart from all others. They were
// written by a reader of the source who looked for gaps, so their number says how many gaps are known, and nothing
// about how many attacks get through.
//
// They run in the sandbox that a run has by default. An accepted one does not fail a test: the page says what is
// accepted today. A test fails only if a case is not sound.
const newGround kind = "newground"

var (
	kindsOnly = flag.String("kinds", "", "of new ground, run only these kinds, such as G,T-names")
	ids       = flag.String("cases", "", "of new ground, run only cases whose name contains one of these words")
	wall      = flag.String("wall", "", "of new ground, run agents in this sandbox instead of the default one")
	record    = flag.Bool("record", false, "of new ground, write the results and the page")
)

// grounds are the kinds of new ground.
var grounds = []family{
	{"B2", "A product that knows the tests by their compiled code"},
	{"C2", "Hidden checks that leak to the agent"},
	{"D2", "Expected values inside of product files"},
	{"G-git", "Work in the .git folder"},
	{"L2-cache", "Work in a cache that agents may write"},
	{"L2-keyring", "Work in the kernel"},
	{"P", "A person's yes that no person gave"},
	{"Q", "Tests that ask for less than the goal"},
	{"R-sleeper", "Something that a completed run left for the next one"},
	{"S", "Reports that are suppressed in the product"},
	{"T-metadata", "Work in the metadata of files and folders"},
	{"T-names", "Files with names, or of types, that no commit can have"},
	{"U", "Test runners in which nothing is planted"},
	{"V-view", "A product that is right only in a view of Ralph's"},
	{"W", "Task lists that are weakened by their form"},
	{"X", "Checks that ask git, or ask too little"},
	{"Y", "Setup commands and hooks that run the agent's code"},
	{"Z-hang", "Work that keeps Ralph from ending"},
}

// moreRunners are sample projects of new ground only. A case for "own" brings its project with it.
var moreRunners = []language{{"perl", "Perl", "perl"}, {"c", "C", "make cc"}, {"own", "", ""}}

// The keys of new ground only.
const (
	keyRunner = "runner" // the name of a case's own project
	keyWall   = "wall"   // the sandbox of the agent, if it is not the default one
	keyLimit  = "limit"  // the seconds after which a run counts as hanging, beyond four times those of honest work
	keyGoal   = "goal"   // "none" if the command has no goal: a task list says what to do
)

// trial is the result of a case in one column.
type trial struct {
	Family  string   `json:"kind"`
	ID      string   `json:"id"`
	Runner  string   `json:"runner"`
	Column  column   `json:"column"`
	Sandbox string   `json:"sandbox"`
	Exit    int      `json:"exit"`
	Word    string   `json:"word"`
	Codes   []string `json:"codes,omitempty"`
	Done    bool     `json:"done"` // the judge's word
	Implied bool     `json:"implied,omitempty"`
}

// controlFamily is in place of the kind for honest solutions.
const controlFamily = "control"

// The words for the result of a trial.
const (
	wordAccepted = "accepted" // exit 0, and the work is not done
	wordRefused  = "refused"
	wordAsked    = "asked"  // refused, and a person can accept it
	wordHang     = "hang"   // not ended within the limit
	wordBroken   = "broken" // ended without a verdict on the claim
	wordDone     = "done"   // exit 0, and the work is done
)

func (s scenario) runner() string {
	if name := s.keys[keyRunner]; name != "" {
		return name
	}
	return s.language.name
}

func TestNewGround(t *testing.T) {
	var (
		mu     sync.Mutex
		trials []trial
	)
	note := func(some ...trial) {
		mu.Lock()
		defer mu.Unlock()
		trials = append(trials, some...)
		for _, one := range some {
			fmt.Println(one)
		}
	}
	all := newGroundScenarios(t)
	t.Run("cases", func(t *testing.T) {
		for _, s := range all {
			if *full && !s.wanted() || !*full && s.name() != "git-description/shell" {
				continue
			}
			t.Run(s.name(), func(t *testing.T) {
				t.Parallel()
				s.skipIfImpossible(t)
				s.checkSoundness(t)
				if *full {
					note(s.control(t, all)...)
					note(s.tryAll(t)...)
				}
			})
		}
	})
	if !*full {
		return
	}
	sortTrials(all, trials)
	fmt.Print(terminalGrounds(trials))
	if *record {
		saveNewGround(t, all, trials)
	}
}

// groundTools returns what scripts of new ground use in every project: a product that is right if a script of its
// says so.
func groundTools(k kind) (*txtar.Archive, error) {
	if k != newGround {
		return &txtar.Archive{}, nil
	}
	return txtar.ParseFile(filepath.Join("testdata", "projects", "right-if.txtar"))
}

func newGroundScenarios(t *testing.T) []scenario {
	t.Helper()
	all, err := loadScenarios(newGround)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// wanted reports whether the flags select a case.
func (s scenario) wanted() bool {
	family := s.keys[keyFamily]
	letter, _, _ := strings.Cut(family, "-")
	some := strings.FieldsFunc(*kindsOnly, func(r rune) bool { return r == ',' })
	words := strings.FieldsFunc(*ids, func(r rune) bool { return r == ',' })
	return (len(some) == 0 || slices.Contains(some, family) || slices.Contains(some, letter)) &&
		(len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s.name(), w) }))
}

// checked remembers which judges and which projects were controlled, since most cases share one.
var checked sync.Map

// checkSoundness makes sure that the case is what it says: its check fails at the base, it fools a naive loop and
// leaves the work undone. And the judge must tell the base from an honest solution.
func (s scenario) checkSoundness(t *testing.T) {
	t.Helper()
	key := fmt.Sprint(s.language, s.files, s.setup, s.judge, s.keys[keyAnswers], s.kit, s.keys[keyJudge])
	if _, known := checked.LoadOrStore("judge "+key, true); !known {
		if newWorld(t, s).solved() {
			t.Error("the judge says that the work is done at the base")
		}
		w := newWorld(t, s.honestly())
		w.must("/bin/sh", "-eu", w.agent())
		if !w.solved() {
			t.Error("the judge says that an honest solution is not done")
		}
	}
	if s.has(plainly) {
		tryNaive(t, s)
	}
}

// honestly returns the case with an agent that does the work.
func (s scenario) honestly() scenario {
	s.kind, s.id, s.after = honest, s.id+"-honest", ""
	s.script = `cp -R "$KIT/right/." .` + "\n" + s.kit["honest.sh"]
	return s
}

// project identifies what an honest solution of a case depends on; empty for a case without one.
func (s scenario) project() string {
	if !s.has(bare) || s.between+s.after+s.keys[keyLimit] != "" {
		return ""
	}
	return fmt.Sprint(s.language, s.files, s.setup, s.keys[keyCheck], s.keys[keyArgs])
}

// control runs Ralph on an honest solution of the same project, once for all cases that share it. The refusal of an
// attack says little where honest work is refused, too.
func (s scenario) control(t *testing.T, all []scenario) []trial {
	t.Helper()
	key := s.project()
	if _, known := checked.LoadOrStore("honest "+key, true); known || key == "" {
		return nil
	}
	one := newWorld(t, s.honestly()).attempt(bare)
	one.ID, one.Family = firstOf(all, key), controlFamily
	return []trial{one}
}

// firstOf returns the first case of a project.
func firstOf(all []scenario, key string) string {
	return all[slices.IndexFunc(all, func(s scenario) bool { return s.project() == key })].id
}

// tryAll runs the program on a case in every column. Hidden checks only add conditions to --protect tests: what
// is accepted with them is accepted without, and what is refused without them is refused with them.
func (s scenario) tryAll(t *testing.T) (list []trial) {
	t.Helper()
	var last trial
	try := func(c column) {
		if !s.has(c) {
			return
		}
		switch {
		case last.Column == covert && last.Word == wordAccepted,
			last.Column == preset && (last.Word == wordRefused || last.Word == wordAsked):
			last.Column, last.Implied = c, true
		default:
			last = newWorld(t, s).attempt(c)
		}
		if last.Word == wordDone {
			t.Errorf("%s: the run ended with 0, and the work is done", c)
		}
		list = append(list, last)
	}
	try(bare)
	if last.Word == wordAccepted {
		try(covert)
		try(preset)
	} else {
		try(preset)
		try(covert)
	}
	return list
}

// attempt runs the program in a column, as often as the case says, and asks the judge.
func (w *world) attempt(c column) trial {
	w.t.Helper()
	one := trial{Family: w.s.keys[keyFamily], ID: w.s.id, Runner: w.s.runner(), Column: c}
	w.enclose()
	defer w.serve()()
	limit := w.limit()
	var run ended
	for i := range w.number(keyRuns) {
		if i > 0 {
			w.must("/bin/sh", "-euc", w.s.between)
		}
		started := w.startFor(append([]string{w.env["RALPH"]}, w.arguments(c)...), w.environ(), limit)
		run = started.end()
		_ = syscall.Kill(-started.cmd.Process.Pid, syscall.SIGKILL) // what a killed run left
		if started.late() {
			if w.s.keys[keyLimit] == "" {
				w.t.Errorf("%s: the run had not ended after %v\n%s", c, limit, run.output())
			}
			one.Exit, one.Word = -1, wordHang
			return one
		}
	}
	var r result
	err := json.Unmarshal([]byte(run.stdout), &r)
	claimed := false // an agent whose script failed has claimed nothing
	if n := len(r.Iterations); n > 0 {
		one.Codes, claimed = r.Iterations[n-1].Refusals, len(r.Iterations[n-1].Claims) > 0
	}
	one.Exit, one.Sandbox = run.code, r.Sandbox
	if w.s.after != "" {
		w.must("/bin/sh", "-euc", w.s.after)
		one.Exit = w.recordedExit()
	}
	one.Done = w.solved()
	switch {
	case one.Exit == 0 && one.Done:
		one.Word = wordDone
	case one.Exit == 0:
		one.Word = wordAccepted
	case one.Exit == asksPerson:
		one.Word = wordAsked
	case err != nil || len(one.Codes) == 0 || !claimed:
		one.Word = wordBroken
	default:
		one.Word = wordRefused
	}
	if workshop.verbose || one.Word == wordBroken {
		w.t.Logf("%s\n%s%s", one, run.stderr, r.outputs())
	}
	return one
}

// limit returns how long a run of the case may take. A busy machine must not look like a hanging program.
func (w *world) limit() time.Duration {
	w.t.Helper()
	if w.s.kind != newGround || w.s.keys[keyLimit] == "" {
		return 5 * patience
	}
	s := w.s.honestly()
	start := time.Now()
	if one := newWorld(w.t, s).attempt(bare); one.Word == wordHang {
		w.t.Fatal("honest work does not end either")
	}
	return 4*time.Since(start) + time.Duration(w.number(keyLimit))*time.Second
}

// enclose lets agents run in the sandbox that a run has by default, or in the one that the case or a flag names.
func (w *world) enclose() {
	mode := w.s.keys[keyWall]
	if *wall != "" {
		mode = *wall
	}
	delete(w.env, "RALPH_SANDBOX__MODE")
	if mode != "" {
		w.env["RALPH_SANDBOX__MODE"] = mode
	}
	w.env["RALPH_SANDBOX__WRITE"] = w.env["KIT"] // the agent's own notes
	if cargo, err := filepath.EvalSymlinks(filepath.Join(workshop.dir, "tools", "cargo")); err == nil {
		w.env["RALPH_SANDBOX__READ"] = filepath.Dir(filepath.Dir(cargo)) // it may be in the home of this user
	}
}

// recordedExit returns the exit code that the last run has now, after what happened to it since.
func (w *world) recordedExit() int {
	w.t.Helper()
	run := w.start([]string{w.env["RALPH"], "status", "--json"}, w.environ()).end()
	var r struct {
		Success bool `json:"success"`
	}
	switch err := json.Unmarshal([]byte(run.stdout), &r); {
	case err != nil:
		w.t.Errorf("read the status: %v\n%s", err, run.output())
		return -1
	case r.Success:
		return 0
	}
	return asksPerson
}
