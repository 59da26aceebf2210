package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/internal/hostile"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/sandbox"
)

// sandboxCommand is `ralph sandbox`.
type sandboxCommand struct{ *app }

func newSandboxCommand(a *app) *cobra.Command {
	c := sandboxCommand{a}
	cmd := &cobra.Command{
		Use: "sandbox", Short: "Test the sandboxes of this machine, and build images", GroupID: "keep",
		Long: `An agent that Ralph starts runs in a sandbox: bwrap if it works here, else
landlock, else none. --sandbox chooses another one. docs/sandbox.md says what an
agent can reach in each of them.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return usage("ralph sandbox needs a command: test or build")
		},
	}
	test := &cobra.Command{
		Use: "test [TIER...]", Short: "Attack this machine from each sandbox, and show what is stopped",
		Long: `Run a hostile program in each sandbox that works here (or in those you name),
and print which attacks are stopped. Each attack is tried without a sandbox
first. If it does not work there, it counts as not tried.

The attacks use a scratch home, state folder and repository. They do not touch
your files, and nothing leaves this machine. --json also says why.

Exits 4 if a sandbox that you name does not work here.`,
		Example: `  ralph sandbox test
  ralph sandbox test bwrap
  ralph sandbox test --json --jq '.probes[].name'`,
		ValidArgs: text.Mapped(testable, func(t sandbox.Tier) string { return string(t) }),
		RunE:      func(cmd *cobra.Command, args []string) error { return c.test(cmd.Context(), args) },
	}
	attack := &cobra.Command{
		Use: "attack NAME TARGET TOKEN", Hidden: true, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := hostile.Attack(cmd.Context(), a.streams.Out, a.streams.Env.Environ, args); err != nil {
				fmt.Fprintln(a.streams.Err, err)
				return exitStatus(1)
			}
			return nil
		},
	}
	cmd.AddCommand(test, attack, newSandboxBuildCommand(a))
	return cmd
}

// testable are the tiers in which a program of this machine can be started.
var testable = []sandbox.Tier{sandbox.None, sandbox.Landlock, sandbox.Bwrap}

// testedTier says whether a tier works here.
type testedTier struct {
	Tier  sandbox.Tier `json:"tier"`
	Works bool         `json:"works"`
	Why   string       `json:"why,omitempty"` // it does not
}

// sandboxReport is the output of `ralph sandbox test`. Outcomes are in the order of the tiers that work.
type sandboxReport struct {
	Tiers  []testedTier  `json:"tiers"`
	Probes []hostile.Row `json:"probes"`
}

func (c sandboxCommand) test(ctx context.Context, names []string) error {
	ownOrphans(c.streams.Err)
	ctx, release := untilSignal(ctx)
	defer release()
	var report sandboxReport
	var works []sandbox.Tier
	tiers, err := chosenTiers(names)
	if err != nil {
		return err
	}
	for _, tier := range tiers {
		tested := testedTier{Tier: tier, Works: true}
		if err := containment.Try(ctx, tier, c.streams.Env.Environ); err != nil {
			unavailable, ok := errors.AsType[*containment.Unavailable](err)
			if !ok || len(names) > 0 {
				return err
			}
			tested.Works, tested.Why = false, unavailable.Why
		} else {
			works = append(works, tier)
		}
		report.Tiers = append(report.Tiers, tested)
	}
	path, _ := c.streams.Env.Lookup("PATH")
	folder, err := c.scratchFolder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	report.Probes, err = hostile.Examine(ctx, hostile.Trial{
		Folder: folder, Self: []string{c.streams.Self, "sandbox", "attack"}, Path: path, Tiers: works,
		Place: func(s *hostile.Scene) containment.Place { return c.place(ctx, s) },
	}, hostile.Probes())
	if err != nil {
		return interruptedOr(ctx, err)
	}
	return c.show(report, func(out io.Writer) { report.print(out, works) })
}

func interruptedOr(ctx context.Context, err error) error {
	if by := interrupted(ctx); by != nil {
		return by
	}
	return err
}

// chosenTiers returns the tiers with these names, in the order of strength; all that can be tested if
// there are no names.
func chosenTiers(names []string) (tiers []sandbox.Tier, err error) {
	for _, name := range names {
		if !slices.Contains(testable, sandbox.Tier(name)) {
			list := strings.Join(text.Mapped(testable, func(t sandbox.Tier) string { return string(t) }), ", ")
			return nil, usage("%q is not a sandbox that can be tested; choose one of: %s", name, list)
		}
	}
	for _, tier := range testable {
		if len(names) == 0 || slices.Contains(names, string(tier)) {
			tiers = append(tiers, tier)
		}
	}
	return tiers, nil
}

// scratchFolder makes a folder for the attacks. It is not among temporary files, because every sandbox
// hides those, unless there is no home.
func (c sandboxCommand) scratchFolder() (string, error) {
	parent := cmp.Or(c.streams.Env.CacheDir, os.TempDir())
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", fmt.Errorf("make a scratch folder: %w", err)
	}
	folder, err := os.MkdirTemp(parent, "sandbox-test-")
	if err != nil {
		return "", fmt.Errorf("make a scratch folder: %w", err)
	}
	return folder, nil
}

// place returns what an agent would have in a scene.
func (c sandboxCommand) place(ctx context.Context, s *hostile.Scene) containment.Place {
	env := c.streams.Env
	env.Environ, env.Home, env.StateDir, env.ConfigDir, env.CacheDir = s.Env, s.Home, s.State, s.Config, s.Cache
	return assembly.ClaudePlace(ctx, env, s.Workspace, filepath.Clean(c.streams.Self))
}

// print shows each attack in a line, and below it what the attack does and why it was not tried.
func (r sandboxReport) print(out io.Writer, works []sandbox.Tier) {
	const column = 13
	head := fmt.Sprintf("%-22s", "attack")
	for _, tier := range works {
		head += fmt.Sprintf("%-*s", column, tier)
	}
	fmt.Fprintln(out, strings.TrimRight(head, " "))
	for _, row := range r.Probes {
		line := fmt.Sprintf("%-22s", row.Name)
		below := []string{row.About}
		for _, outcome := range row.Outcomes {
			line += fmt.Sprintf("%-*s", column, outcome.Verdict)
			why := string(hostile.NotTried) + ": " + outcome.Why
			if outcome.Verdict == hostile.NotTried && !slices.Contains(below, why) {
				below = append(below, why)
			}
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
		for _, words := range below {
			for _, part := range text.Wrap(words, 76) {
				fmt.Fprintln(out, "    "+part)
			}
		}
	}
	for _, tier := range r.Tiers {
		if !tier.Works {
			fmt.Fprintf(out, "%s does not work here: %s\n", tier.Tier, tier.Why)
		}
	}
}
