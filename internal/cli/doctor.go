package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph/internal/doctor"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
)

// doctorCommand is `ralph doctor`.
type doctorCommand struct{ *app }

func newDoctorCommand(a *app) *cobra.Command {
	c := doctorCommand{a}
	var anew, none bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check agents, logins, checks and configuration", GroupID: "keep", Args: noArguments,
		Long: `Check which agents are installed and logged in, who pays, whether each agent CLI
behaves as a run needs it to, and whether the project's configuration works.

A probe runs each CLI in a temporary folder against a scripted model on this
machine. It does not use tokens, the network or your login. Results are
remembered per CLI version.

Exits 1 if the next run here needs something that is broken or missing.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case anew && none:
				return usage("--probe and --no-probe exclude each other")
			case anew:
				return c.run(cmd.Context(), doctor.ProbeAll)
			case none:
				return c.run(cmd.Context(), doctor.ProbeNone)
			}
			return c.run(cmd.Context(), doctor.ProbeNew)
		},
	}
	cmd.Flags().BoolVar(&anew, "probe", false, "probe every agent again")
	cmd.Flags().BoolVar(&none, "no-probe", false, "skip the probes")
	return cmd
}

func (c doctorCommand) run(ctx context.Context, probing doctor.Probing) error {
	workspace, err := c.workspace(ctx)
	if err != nil {
		return err
	}
	ownOrphans(c.streams.Err)
	ctx, release := untilSignal(ctx) // a probed CLI must not outlive this process
	defer release()
	// With a broken configuration the other findings still help.
	loaded, trouble := c.load(workspace, map[string][]string{})
	findings := doctor.Examine(ctx, doctor.Examination{
		Workspace: workspace,
		Env:       c.streams.Env,
		Version:   version(),
		Program:   ownPath(c.streams.Self),
		Probing:   probing,
		Settings:  loaded.Settings,
		Trouble:   trouble,
		Tell:      c.progressPrinter(),
	})
	if err := interrupted(ctx); err != nil {
		return err
	}
	if err := c.show(findings, func(out io.Writer) { printFindings(out, findings) }); err != nil {
		return err
	}
	broken := doctor.Broken(findings)
	if len(broken) == 0 {
		return nil
	}
	if !c.wantsJSON() {
		names := text.Mapped(broken, func(f doctor.Finding) string { return fmt.Sprintf("%q", f.What) })
		list := strings.Join(slices.Compact(names), ", ")
		fmt.Fprintf(c.errLines(), "ralph: the next run would fail; see %s above\n", list)
	}
	return exitStatus(1)
}

// progressPrinter prints whole lines of progress on a terminal, and nothing elsewhere.
func (c doctorCommand) progressPrinter() func(string) {
	if !c.streams.ErrTerm || c.globals.quiet {
		return func(string) {}
	}
	var mu sync.Mutex
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(c.errLines(), "ralph: "+term.Clean(line))
	}
}

func printFindings(out io.Writer, findings []doctor.Finding) {
	var missing []string
	for _, f := range findings {
		if name, isAgent := strings.CutPrefix(f.What, "agent "); isAgent && f.Agent == nil {
			missing = append(missing, name)
			continue
		}
		if len(missing) > 0 {
			printLine(out, string(doctor.Missing), "agents not installed: "+strings.Join(missing, ", "))
			missing = nil
		}
		line := f.What
		if f.Detail != "" {
			line += ": " + f.Detail
		}
		printLine(out, string(f.State), line)
		if f.Agent != nil {
			printAgent(out, *f.Agent)
		}
	}
}

func printLine(out io.Writer, head, text string) {
	fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("%-8s %s", head, term.Clean(text)), " "))
}

// printAgent writes the details below an agent's line.
func printAgent(out io.Writer, f doctor.AgentFinding) {
	tell := func(head, text string) {
		if text != "" {
			fmt.Fprintf(out, "         %-8s %s\n", head, term.Clean(text))
		}
	}
	if f.Broken != "" {
		tell("version", "known not to work: "+f.Broken)
	}
	login := string(f.Login)
	if f.Because != "" {
		login += ": " + f.Because
	}
	tell("login", login)
	tell("billing", string(f.Billing))
	tell("warning", f.Warning)
	for _, line := range probeLines(f) {
		tell("probe", line)
	}
}

// probeLines combines aspects with the same result into one line.
func probeLines(f doctor.AgentFinding) []string {
	if f.Probe == nil {
		return []string{"unknown: not probed"}
	}
	type verdict struct{ state, detail string }
	var order []verdict
	names := map[verdict][]string{}
	for _, aspect := range f.Probe.Aspects() {
		v := verdict{string(aspect.State), aspect.Detail}
		if names[v] == nil {
			order = append(order, v)
		}
		names[v] = append(names[v], aspect.Name)
	}
	var lines []string
	for _, v := range order {
		line := v.state + ": " + strings.Join(names[v], ", ")
		if v.detail != "" {
			line += ": " + v.detail
		}
		lines = append(lines, line)
	}
	return lines
}
