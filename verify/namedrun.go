package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/proof/canary"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

const (
	// collectTimeout bounds the search for reports.
	collectTimeout = time.Minute
	// reportLimit and reportsLimit bound the size and the number of reports that are read.
	reportLimit, reportsLimit = 32 << 20, 2000
)

// namedRun is one run of a check whose tests are known by name.
type namedRun struct {
	outcome canary.Outcome
	result  ralph.CheckResult
	written []string // tests of the base that changed while it ran
}

// errNotPlanted means that a view cannot be changed where tests are planted.
var errNotPlanted = errors.New("cannot plant tests")

// undisturbed repeats a run that a live session disturbed: a check that fails shows as much as one that passes, so
// neither may count.
func undisturbed[T any](ctx context.Context, in ralph.ViewInput, run func() (T, error)) (result T, err error) {
	var started []string
	for range ralph.DisturbedTries {
		before := in.Disturbances()
		result, err = run()
		if err != nil || ctx.Err() != nil {
			return result, err
		}
		if started = in.Disturbances()[len(before):]; len(started) == 0 {
			return result, nil
		}
	}
	return result, fmt.Errorf("%w: %s", ralph.ErrDisturbed, listed("", started))
}

// runNamed runs a check in a new view, with planted tests if there are any.
func (e *Examiner) runNamed(
	ctx context.Context, in ralph.ViewInput, check ralph.CheckInput, plants []canary.Plant,
) (namedRun, error) {
	return undisturbed(ctx, in, func() (namedRun, error) { return runNamedOnce(ctx, e, in, check, plants) })
}

// runNamedOnce runs a check once. An overlay may be refused in one folder of the workspace, for example because of its
// group, and work in all others. Then the rest of the run uses copies.
func runNamedOnce(
	ctx context.Context, e *Examiner, in ralph.ViewInput, check ralph.CheckInput, plants []canary.Plant,
) (run namedRun, err error) {
	tree, err := e.viewTree(ctx, in)
	if err != nil {
		return run, err
	}
	overlay := false
	try := func(v *view) (err error) {
		overlay = v.mode == pristine.Overlay
		run, err = v.run(ctx, tree, check, plants)
		return err
	}
	err = e.withView(ctx, in, try)
	if errors.Is(err, errNotPlanted) && overlay && !e.isNamed(request{ViewInput: in, apart: true}) {
		e.best = isolation{mode: pristine.Copy, why: "no overlay: " + err.Error()}
		err = e.withView(ctx, in, try)
	}
	return run, err
}

// run plants tests, runs a check so that it names its tests, and reads the results. Every check of a view runs like
// this, with planted tests or without, so that nothing tells the runs apart.
func (v *view) run(
	ctx context.Context, tree canary.Tree, check ralph.CheckInput, plants []canary.Plant,
) (namedRun, error) {
	shell, discard, err := v.prepareHidden(command(check))
	if err != nil {
		return namedRun{}, err
	}
	defer discard()
	if err := v.plant(plants); err != nil {
		return namedRun{}, err
	}
	reports := filepath.Join(v.folder, "reports")
	invocation := canary.Invoke(tree, command(check), reports)
	var run namedRun
	if err := os.WriteFile(filepath.Join(reports, "begun"), nil, 0o600); err != nil {
		return run, fmt.Errorf("begin: %w: %w", ralph.ErrIO, err)
	}
	shell.Env = addVariables(shell.Env, invocation.Env)
	if usesPython(tree, command(check)) {
		// The cache is the view's own, so it is no reason not to write one.
		shell.Env = append(shell.Env, v.warm(bytecode), "PYTHONDONTWRITEBYTECODE=")
	}
	if usesCargoTarget(shell, tree, command(check)) {
		shell.Env = append(shell.Env, v.warm(cargoTarget))
	}
	runs := check
	runs.Command = invocation.Command
	var listener *canary.Listener
	result, err := shell.run(ctx, runs, func(out io.Writer) io.WriteCloser {
		listener = canary.NewListener(invocation, plants, out)
		return listener
	})
	run.result = result
	if err != nil || ctx.Err() != nil {
		return run, err
	}
	if run.outcome = canary.OutcomeOf(result); listener != nil { // otherwise nothing was started
		texts, err := v.reports(ctx, invocation, check, reports)
		if err != nil {
			return run, err
		}
		run.outcome = listener.Outcome(canary.ExitOf(result), texts)
	}
	if canary.RanNoTests(tree, command(check), invocation, run.outcome) {
		run.outcome.Total = 0
	}
	run.result.Tests = run.outcome.Seen()
	run.written, err = v.writtenTests(ctx)
	return run, err
}

// plant writes tests into the view.
func (v *view) plant(plants []canary.Plant) error {
	planted := filepath.Join(v.folder, "planted")
	for _, folder := range []string{planted, filepath.Join(v.folder, "reports")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return fmt.Errorf("plant: %w: %w", ralph.ErrIO, err)
		}
	}
	var edits []pristine.Edit
	for i, plant := range plants {
		source := filepath.Join(planted, strconv.Itoa(i))
		if err := os.WriteFile(source, []byte(plant.Text), 0o644); err != nil {
			return fmt.Errorf("plant: %w: %w", ralph.ErrIO, err)
		}
		edits = append(edits, pristine.Edit{Name: plant.Name, Source: source})
	}
	return v.layOver(edits)
}

// layOver adds files to the view.
func (v *view) layOver(edits []pristine.Edit) error {
	switch err := v.isolated.ApplyEdits(edits); {
	case err == nil:
		return nil
	case isStorageFailure(err):
		return fmt.Errorf("plant: %w: %w", ralph.ErrIO, err)
	default:
		return fmt.Errorf("%w: %w", errNotPlanted, err)
	}
}

// addVariables adds variables to an environment. Options for pytest join those of the user.
func addVariables(env, added []string) []string {
	env = slices.Clone(env)
	for _, variable := range added {
		name, value, _ := strings.Cut(variable, "=")
		if own, set := (Shell{Env: env}).variable(name); set && name == "PYTEST_ADDOPTS" {
			value = own + " " + value
		}
		env = append(env, name+"="+value)
	}
	return env
}

// collectScript copies the reports that a run wrote out of its view, which is not visible from
// outside.
const collectScript = `cd "$1" && find . -type f -path "$2" -newer "$3/begun" -exec sh -c ` +
	`'d=$1; shift; for f; do cp "$f" "$(mktemp "$d/found.XXXXXX")"; done' sh "$3" {} +`

// reports reads the reports of a run: those that it was asked to write, and those that its tools
// write by default. A missing report is no error.
func (v *view) reports(
	ctx context.Context, invocation canary.Invocation, check ralph.CheckInput, folder string,
) ([][]byte, error) {
	var files []string
	for _, report := range invocation.Reports {
		if filepath.IsAbs(report) {
			found, _ := filepath.Glob(report)
			files = append(files, found...)
			continue
		}
		argv := append(
			process.Shell(collectScript), "sh", v.isolated.Dir(), "./"+strings.ReplaceAll(report, "**/", "*"), folder,
		)
		spec := v.inView(process.Spec{Argv: argv, Dir: check.Dir, Env: v.Env, Marker: check.Marker, Timeout: collectTimeout})
		if ended, err := process.Run(ctx, spec); err != nil || ended.StartError != nil {
			return nil, fmt.Errorf("collect reports: %w", cmp.Or(err, ended.StartError))
		}
	}
	found, _ := filepath.Glob(filepath.Join(folder, "found.*"))
	files = append(files, found...)
	var texts [][]byte
	for _, file := range files[:min(len(files), reportsLimit)] {
		if text, err := readReport(file); err == nil {
			texts = append(texts, text)
		}
	}
	return texts, nil
}

func readReport(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, reportLimit))
}
