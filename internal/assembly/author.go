package assembly

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/verify"
)

// findAuthor selects the agent that writes acceptance tests before any work, if the run has one.
func (p *Plan) findAuthor() error {
	s := p.Settings
	if !s.Tests.Enabled() {
		if s.Tests.Hidden {
			return &config.UsageError{Msg: "--tests-hidden: no agent writes tests", Hint: "name one with --tests-by"}
		}
		return nil
	}
	if !p.Resumed {
		if err := p.checkTestsFirst(); err != nil {
			return err
		}
	}
	chosen, err := chooseAuthor(p)
	if err != nil {
		return err
	}
	chosen = p.withEnvironment(chosen)
	if err := checkMeters(s, []chosenAgent{chosen}); err != nil {
		return err
	}
	p.author = &chosen
	s.IterationCost = 0 // it belongs to no iteration
	p.noticeLate(s, chosen)
	return nil
}

// checkTestsFirst rejects runs in which tests that are written first could show nothing.
func (p *Plan) checkTestsFirst() error {
	open := 0
	if p.list != nil {
		for _, t := range p.list.Tasks() {
			if t.Status != ralph.TaskDone && t.Blocks() {
				open++
			}
		}
	}
	switch {
	case len(p.Checks) == 0:
		return &config.UsageError{Msg: "--tests-by: no check would run the tests", Hint: "pass one with --check"}
	case !p.Settings.Checks.Baseline:
		return &config.UsageError{
			Msg: "--tests-by: the tests must fail before the work, but checks.baseline is false", Hint: "set it to true",
		}
	case slices.ContainsFunc(p.Checks, func(check string) bool { return strings.Contains(check, "{tests}") }):
		return &config.UsageError{
			Msg: "--tests-by: a check with {tests} runs only the tests of tasks", Hint: "pass one that runs all tests",
		}
	case open > 1:
		return &config.UsageError{
			Msg:  fmt.Sprintf("--tests-by: the list has %d open tasks, and their tests would fail until all are done", open),
			Hint: "pass one task as a goal, or leave --tests-by out",
		}
	}
	return nil
}

func chooseAuthor(p *Plan) (chosenAgent, error) {
	s := p.Settings
	base := agent.Options{
		Permissions: permissions(s, p.Walls.tier), AllowedCommands: p.Checks, InheritSettings: s.Agent.InheritSettings,
		Sandbox: p.Walls.tier,
	}
	if s.Tests.Command != "" {
		base.Dialect, _ = agent.Find("command")
		base.CommandLine = s.Tests.Command
		return chosenAgent{name: "command", options: base}, nil
	}
	return p.furtherAgent(s.Tests.By, base, "name another agent with --tests-by")
}

// testAuthor lets an agent write tests in a copy of the workspace.
type testAuthor struct {
	plan     *Plan
	chosen   chosenAgent
	examiner *verify.Examiner
}

// Write implements ralph.TestAuthor.
func (a testAuthor) Write(ctx context.Context, in ralph.AuthorInput) (ralph.TestsWritten, error) {
	written := ralph.TestsWritten{Agent: a.chosen.name, Model: a.chosen.model, Hidden: a.plan.Settings.Tests.Hidden}
	place, err := verify.OpenForAuthor(ctx, a.examiner, ralph.ViewInput{Dir: in.Dir, Marker: in.Marker, Base: in.Base})
	if err != nil {
		if errors.Is(err, ralph.ErrIO) || ctx.Err() != nil {
			return written, err
		}
		written.End, written.Error = ralph.EndSandbox, err.Error()
		return written, nil
	}
	outcome, err := a.plan.guard(a.chosen).Run(ctx, ralph.AgentInput{
		Prompt: in.Prompt, Dir: place.Dir, Folder: in.Folder, Model: a.chosen.model, Marker: in.Marker, Timeout: in.Timeout,
		Budget: in.Budget, IdleTimeout: a.plan.Settings.IdleTimeout.Duration(), Live: in.Live,
	})
	if err == nil {
		err = a.collect(place, &written)
	}
	written.End, written.Error, written.Hint = outcome.End, outcome.Error, outcome.Hint
	written.Model, written.Duration = cmp.Or(outcome.Model, written.Model), outcome.Duration
	written.Cost, written.CostEstimated, written.CostPartial = outcome.Cost, outcome.CostEstimated, outcome.CostPartial
	written.Tokens, written.TokensPartial = outcome.Tokens, outcome.TokensPartial
	return written, errors.Join(err, place.Close())
}

// collect keeps the tests that the author added.
func (a testAuthor) collect(place *verify.AuthorCopy, written *ralph.TestsWritten) error {
	tests, others, err := place.Written()
	if err != nil {
		return err
	}
	written.Ignored, written.Files = others, []ralph.TestFile{}
	if err := place.Keep(tests, a.examiner.GivenDir); err != nil {
		return err
	}
	for _, name := range tests {
		content, err := os.ReadFile(filepath.Join(a.examiner.GivenDir, filepath.FromSlash(name)))
		if err != nil {
			return fmt.Errorf("read tests: %w: %w", ralph.ErrIO, err)
		}
		written.Files = append(written.Files, ralph.TestFile{Name: name, SHA256: digestOf(content), Text: string(content)})
	}
	return nil
}

// Adopt implements ralph.TestAuthor.
func (a testAuthor) Adopt(_ context.Context, tests ralph.TestsWritten) error {
	p := a.plan
	p.Tests = &tests
	if tests.Hidden {
		return nil
	}
	for _, file := range tests.Files {
		name := filepath.FromSlash(file.Name)
		err := verify.CopyNew(filepath.Join(a.examiner.GivenDir, name), filepath.Join(p.Workspace.Dir, name))
		if errors.Is(err, fs.ErrExist) { // written by a process that was killed
			content, _ := os.ReadFile(filepath.Join(p.Workspace.Dir, name))
			if digestOf(content) == file.SHA256 {
				err = nil
			}
		}
		if err != nil {
			return fmt.Errorf("write tests into the workspace: %w: %w", ralph.ErrIO, err)
		}
	}
	p.Protected = tests.Protects(p.Protected)
	rules, err := p.rules()
	if err != nil {
		return fmt.Errorf("protect tests: %w", err)
	}
	p.protect, a.examiner.Rules = rules, rules
	return nil
}

// checkHiddenTests refuses hidden tests that changed since they were recorded. tests is nil before that.
func checkHiddenTests(tests *ralph.TestsWritten, dir string) error {
	if tests == nil {
		return nil
	}
	recorded, found := map[string]string{}, map[string]string{}
	for _, file := range tests.Files {
		recorded[file.Name] = file.SHA256
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		found[filepath.ToSlash(name)] = digestOf(content)
		return err
	})
	if err != nil || !maps.Equal(recorded, found) {
		return errors.New("hidden tests changed since they were written")
	}
	return nil
}

func digestOf(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }
