// Package reverify runs the checks of a run again, on the tree that they judged.
package reverify

import (
	"context"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/verify"
)

// Check is one check of a run: the recorded result, and the result of running it again on the same
// tree.
type Check struct {
	Name      string `json:"name"`
	Task      string `json:"task,omitempty"`
	Then      Fate   `json:"then"`
	Now       Fate   `json:"now"`
	Isolation string `json:"isolation"`
	Same      bool   `json:"same"` // both passed, both failed or both could not run
}

// Fate is the result of a check.
type Fate struct {
	Passed     bool   `json:"passed"`
	Broken     bool   `json:"broken,omitempty"` // it could not run
	ExitCode   int    `json:"exit_code"`
	OutputHash string `json:"output_sha256,omitempty"`
	Output     string `json:"output,omitempty"`
}

func fateOf(c ralph.CheckResult) Fate {
	return Fate{c.Passed, c.Broken, c.ExitCode, c.OutputHash, c.Output}
}

// Run runs the checks of a run's last iteration again, each in a view of the tree that it judged.
// The workspace may have changed since. Run leaves it as it is, except for what a check writes that
// runs in place. The caller must hold the workspace's lock.
func Run(ctx context.Context, req assembly.Request, state *fold.State, places assembly.Places) ([]Check, error) {
	checks, tree := Judged(state)
	switch {
	case len(checks) == 0:
		return nil, &config.UsageError{Msg: "no check ran in the last iteration, so there is nothing to run again"}
	case tree.Snapshot == "":
		return nil, &config.UsageError{Msg: "no snapshot exists of the tree that its checks ran on"}
	}
	var err error
	if req.Settings, err = config.Recorded(state.Started.Settings, req.Env, req.Workspace.Dir); err != nil {
		return nil, &config.UsageError{
			Msg: fmt.Sprintf("run %s was not started by this program, so its settings are unknown", state.Run),
		}
	}
	examiner, err := assembly.Examiner(ctx, req, state, places)
	if err != nil {
		return nil, err
	}
	again := rechecker{
		examiner: examiner, state: state, dir: req.Workspace.Dir,
		hidden: slices.Concat(req.Settings.Checks.Hidden, state.HiddenTestChecks()),
	}
	return again.all(ctx)
}

// Judged returns the checks of a run's last verdict, and the tree that they ran on: those of its
// last iteration, or of its baseline if no agent ever worked.
func Judged(state *fold.State) ([]ralph.CheckResult, ralph.TreeState) {
	h := state.History
	if h.Started == 0 {
		return h.Baseline, h.Base
	}
	return h.Now.Checks, h.Now.Tree
}

// rechecker runs recorded checks, each in a separate view.
type rechecker struct {
	examiner *verify.Examiner
	state    *fold.State
	dir      string
	hidden   []string
}

func (r rechecker) all(ctx context.Context) ([]Check, error) {
	checks := []Check{}
	number := 0
	recorded, tree := Judged(r.state)
	for _, then := range recorded {
		in := ralph.CheckInput{
			Name:    then.Name,
			Command: then.Command,
			Dir:     r.dir,
			Marker:  "verify-" + r.state.Run,
			Timeout: r.state.Policy.CheckTimeout.Duration(),
		}
		if then.Hidden {
			if number++; number > len(r.hidden) {
				continue
			}
			in.Command = r.hidden[number-1]
		}
		if then.Name == ralph.CommitCheck { // it has no command
			continue
		}
		now, err := r.one(ctx, then, tree, in)
		if err != nil {
			return nil, err
		}
		checks = append(checks, Check{
			Name:      then.Name,
			Task:      then.Task,
			Then:      fateOf(then),
			Now:       fateOf(now),
			Isolation: now.Isolation,
			Same:      then.Passed == now.Passed && then.Broken == now.Broken,
		})
	}
	return checks, nil
}

func (r rechecker) one(
	ctx context.Context,
	then ralph.CheckResult,
	tree ralph.TreeState,
	in ralph.CheckInput,
) (ralph.CheckResult, error) {
	h := r.state.History
	wanted := ralph.ViewInput{Kind: ralph.ViewClaimed, Dir: r.dir, Marker: in.Marker, Base: h.Base, Now: tree}
	if then.Hidden {
		wanted.Kind = ralph.ViewHidden
	}
	if r.state.Policy.KeepAnswer {
		wanted.Answer = &h.Now.Agent.Answer
	}
	for _, before := range h.Baseline {
		if before.Name == then.Name && before.Task == then.Task {
			wanted.Access = before.NeedsAccess
		}
	}
	v, err := r.examiner.Open(ctx, wanted)
	if err != nil {
		return ralph.CheckResult{}, err
	}
	result, err := v.Check(ctx, in)
	result.Isolation, _ = v.Isolation()
	if closed := v.Close(); err == nil {
		err = closed
	}
	if then.Hidden {
		result.Output = ""
	}
	return result, err
}
