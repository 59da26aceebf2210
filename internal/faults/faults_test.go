//go:build linux && amd64

// Package faults breaks the storage under the built program, one system call at a time.
//
// A try is a run of three iterations in a scratch repository. At one write-class system call of
// Ralph's own threads, of the copy of itself that creates a view, or of the git that it starts, one
// thing goes wrong: the process is killed before the call, after it, or in the middle of a write, or
// the call fails with ENOSPC, EIO or EACCES. Then an oracle looks. A run that was killed, or ended
// with 74, must be resumed to its end. Exit 0 must be true, the exit code, the log and the result must
// agree, the storage's fault must not be blamed on the agent or a check, and the user's files must be
// what they were.
//
// The calls are those of a run without a fault, by program, name, path and how often they were made:
// the order of calls differs from run to run.
//
// `make faults` tries every call with every fault that is plausible there. .ci/run tries a sample, and
// the ordinary tests a few. The tracer reads and changes registers, so it is for amd64 only.
package faults

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

var (
	full  = flag.Bool("full", false, "try every call")
	few   = flag.Int("sample", 5, "how many tries, spread over all of them; ignored with -full and -at")
	seed  = flag.Uint64("seed", 0, "which tries the sample has; default: random")
	named = flag.String("scenario", "", "try only this scenario")
	kind  = flag.String("fault", "", "try only this fault")
	at    = flag.String("at", "", "try only this call")
	match = flag.String("match", "", "try only calls that match this `expression`")
	built = flag.String("ralph", "", "the program to try; built if it is not given")
	keep  = flag.Bool("keep", false, "keep the folders of wrong tries")
)

// workshop is the folder of all worlds.
var workshop string

func TestMain(m *testing.M) {
	if text := os.Getenv(traceVariable); text != "" {
		followOrder(text)
		return
	}
	if program := os.Getenv(startVariable); program != "" {
		err := become(program)
		fmt.Fprintf(os.Stderr, "start %s: %v\n", program, err)
		os.Exit(1)
	}
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "faults-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		workshop = dir
		if !*keep {
			defer os.RemoveAll(dir)
		}
		return m.Run()
	}())
}

// program returns the program under test.
var program = sync.OnceValues(func() (string, error) {
	if *built != "" {
		return filepath.Abs(*built)
	}
	name := filepath.Join(workshop, "ralph")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", name,
		"github.com/ralphloop/ralph/cmd/ralph")
	// with the flags of the tests, most of it is already compiled
	build.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("TESTS_GOFLAGS"))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build ralph: %w\n%s", err, out)
	}
	return name, nil
})

// stage is a scenario with what a run without a fault does.
type stage struct {
	scenario
	control
	dir string // the template
}

func newStage(t *testing.T, s scenario) *stage {
	t.Helper()
	g := &stage{scenario: s, dir: filepath.Join(workshop, s.name)}
	if err := s.template(g.dir); err != nil {
		t.Fatal(err)
	}
	w := g.world(t)
	defer func() { _ = w.remove() }()
	var err error
	if g.before, err = files(w.project()); err != nil {
		t.Fatal(err)
	}
	g.head, g.index = w.repository()
	run, output, err := w.traced("", "")
	if err != nil || run.Code != 0 {
		t.Fatalf("%s without a fault: exit %d, %v\n%s", s.name, run.Code, err, output.output())
	}
	g.calls = run.Calls
	r, err := readResult(output.stdout)
	if err != nil {
		t.Fatal(err)
	}
	g.refusals, g.notices = r.refusals(), w.notices()
	now, err := files(w.project())
	if err != nil {
		t.Fatal(err)
	}
	g.after = slices.Sorted(maps.Keys(now))
	o := &oracle{w: w, c: g.control}
	if o.proven("the run without a fault"); len(o.problems) > 0 {
		t.Fatalf("%s without a fault: %s", s.name, strings.Join(o.problems, "\n"))
	}
	return g
}

// world returns a fresh world.
func (g *stage) world(t *testing.T) *world {
	t.Helper()
	ralph, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(workshop, g.name+"-")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", g.dir+"/.", dir).CombinedOutput(); err != nil {
		t.Fatalf("copy template: %v: %s", err, out)
	}
	return &world{s: g.scenario, ralph: ralph, dir: dir}
}

// try is one fault at one call of one scenario.
type try struct {
	*stage
	fault    fault
	at       string
	hit      bool
	problems []string
}

func (y *try) String() string {
	return fmt.Sprintf("-scenario %s -fault %s -at '%s'", y.name, y.fault, y.at)
}

// attempts is how often a call is looked for: a run may do without it, if threads took turns
// differently.
const attempts = 3

func (y *try) run(t *testing.T) {
	for range attempts {
		w := y.world(t)
		run, output, err := w.traced(y.fault, y.at)
		if err != nil {
			t.Errorf("%s: %v", y, err)
		}
		if y.hit = run.Hit != ""; y.hit {
			o := &oracle{w: w, c: y.control}
			o.judge(y.fault, run, output)
			if y.problems = o.problems; *at != "" {
				t.Logf("hit %s, exit %d\n%s", run.Hit, run.Code, output.stderr)
			}
		}
		if *keep && len(y.problems) > 0 {
			y.problems = append(y.problems, w.dir)
		} else if err := w.remove(); err != nil {
			t.Errorf("remove world: %v", err)
		}
		if y.hit {
			return
		}
	}
}

// tries returns every fault at every call.
func (g *stage) tries() []*try {
	var list []*try
	matching := regexp.MustCompile(*match)
	for _, c := range g.calls {
		if *at != "" && *at != c.Key || !matching.MatchString(c.Key) {
			continue
		}
		for _, f := range c.faults() {
			if *kind == "" || string(f) == *kind {
				list = append(list, &try{stage: g, fault: f, at: c.Key})
			}
		}
	}
	return list
}

// sample takes n tries that are spread evenly, the first one at random.
func sample(list []*try, n int, seed uint64) []*try {
	if n >= len(list) {
		return list
	}
	offset := rand.New(rand.NewPCG(seed, 0)).Float64()
	var taken []*try
	for i := range n {
		taken = append(taken, list[int((float64(i)+offset)*float64(len(list))/float64(n))])
	}
	return taken
}

func TestFaults(t *testing.T) {
	var list []*try
	for _, s := range scenarios {
		if *named == s.name || *named == "" && !testing.Short() || *named == "" && s.name == "goal" {
			g := newStage(t, s)
			tries := g.tries()
			t.Logf("%s: %d write-class calls, %d tries", g.name, len(g.calls), len(tries))
			list = append(list, tries...)
		}
	}
	if len(list) == 0 {
		t.Fatal("no such try")
	}
	if !*full && *at == "" {
		if *seed == 0 {
			*seed = rand.Uint64N(1_000_000) + 1
		}
		list = sample(list, *few, *seed)
		t.Logf("a sample of %d: -sample %d -seed %d", len(list), *few, *seed)
	}
	runAll(t, list)
	fmt.Print(table(list))
}

// runAll runs the tries, a few at a time, and reports progress.
func runAll(t *testing.T, list []*try) {
	const workers = 2
	begun, queue := time.Now(), make(chan *try)
	var working sync.WaitGroup
	var lock sync.Mutex
	done, wrong := 0, 0
	for range workers {
		working.Go(func() {
			for y := range queue {
				y.run(t)
				lock.Lock()
				if done++; len(y.problems) > 0 {
					wrong++
					t.Errorf("go test ./internal/faults -run TestFaults -args -ralph bin/ralph %s\n\t%s", y,
						strings.ReplaceAll(strings.Join(y.problems, "\n"), "\n", "\n\t"))
				}
				if done%200 == 0 {
					fmt.Printf("%d of %d tries after %s, %d wrong\n", done, len(list), time.Since(begun).Round(time.Second), wrong)
				}
				lock.Unlock()
			}
		})
	}
	for _, y := range list {
		queue <- y
	}
	close(queue)
	working.Wait()
}

// table returns how many tries there were, by scenario and fault.
func table(list []*try) string {
	var b strings.Builder
	writer := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(writer, "scenario\tfault\ttried\tnot reached\twrong\t")
	var total [3]int
	for _, s := range scenarios {
		for _, f := range allFaults {
			var n [3]int
			for _, y := range list {
				if y.name == s.name && y.fault == f {
					n[0]++
					if !y.hit {
						n[1]++
					}
					if len(y.problems) > 0 {
						n[2]++
					}
				}
			}
			if n[0] > 0 {
				fmt.Fprintf(writer, "%s\t%s\t%d\t%d\t%d\t\n", s.name, f, n[0], n[1], n[2])
			}
			for i := range n {
				total[i] += n[i]
			}
		}
	}
	fmt.Fprintf(writer, "all\t\t%d\t%d\t%d\t\n", total[0], total[1], total[2])
	_ = writer.Flush() // writes to memory
	return b.String()
}
