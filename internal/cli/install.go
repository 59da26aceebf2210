package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph/internal/install"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/term"
)

// installCommand is `ralph install` and `ralph uninstall`.
type installCommand struct {
	*app
	project, dryRun bool
}

func newInstallCommand(a *app) *cobra.Command {
	c := &installCommand{app: a}
	return c.withFlags(&cobra.Command{
		Use: "install AGENT", Short: "Install the goal command, skills and hooks for claude or codex", GroupID: "keep",
		Annotations: outside,
		Long: `Install Ralph into Claude Code or Codex: the command that sets a goal, the
skills that teach an agent to report, and the hooks that let a session stop
only when its goal is proven. Ralph adds its entries to your settings and
changes nothing else in them. ralph uninstall removes them again.

With --project, Ralph writes into this project instead of your home folder, for
everyone who works on it. The hooks then do nothing for people without Ralph.`,
		Example: `  ralph install claude --dry-run
  ralph install claude
  ralph install codex --project`,
		Args: exactlyOne("needs an agent: claude or codex"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.install(cmd.Context(), args[0]) },
	})
}

func newUninstallCommand(a *app) *cobra.Command {
	c := &installCommand{app: a}
	return c.withFlags(&cobra.Command{
		Use: "uninstall AGENT", Short: "Remove what ralph install wrote", GroupID: "keep", Annotations: outside,
		Long: `Remove what ralph install wrote. A settings file that is unchanged since has
the same bytes as before the install. In any other file, only Ralph's entries
are removed.`,
		Args: exactlyOne("needs an agent: claude or codex"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.uninstall(cmd.Context(), args[0]) },
	})
}

func (c *installCommand) withFlags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&c.project, "project", false, "write into this project instead of your home folder")
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "show what would change, and write nothing")
	return cmd
}

// place returns where the flags say.
func (c *installCommand) place(ctx context.Context, agent string) (install.Place, error) {
	if !slices.Contains(install.Agents, agent) {
		return install.Place{}, usage("unknown agent %q; choose one of: %s", agent, strings.Join(install.Agents, ", "))
	}
	env := c.streams.Env
	if env.Home == "" || env.StateDir == "" {
		return install.Place{}, usage("the home folder is unknown; set HOME")
	}
	place := install.Place{Agent: agent, Home: env.Home, Lookup: env.Lookup, State: env.StateDir}
	if !c.project {
		place.Program = ownPath(c.streams.Self)
		return place, nil
	}
	w, err := c.workspace(ctx)
	place.Project = w.Dir
	return place, err
}

// ownPath returns the path of this program, "" if the ralph on PATH is this program.
func ownPath(self string) string {
	found, err := process.LookPath("ralph")
	if err != nil {
		return self
	}
	there, err := os.Stat(found)
	here, alsoErr := os.Stat(self)
	if err == nil && alsoErr == nil && os.SameFile(there, here) {
		return ""
	}
	return self
}

func (c *installCommand) install(ctx context.Context, agent string) error {
	place, err := c.place(ctx, agent)
	if err != nil {
		return err
	}
	plan, err := place.Install()
	if err != nil {
		return usage("%v", err)
	}
	if _, err := process.LookPath("ralph"); c.project && err != nil {
		plan.Notes = append(plan.Notes, "ralph is not on your PATH, so the project's hooks do nothing here")
	}
	if where, command := c.elsewhere(ctx, place); where != "" {
		plan.Notes = append(plan.Notes, "also installed "+where+", so hooks may run twice; remove those with: "+command)
	}
	return c.apply(plan, "installed and current; nothing to change", afterInstall[agent])
}

func (c *installCommand) uninstall(ctx context.Context, agent string) error {
	place, err := c.place(ctx, agent)
	if err != nil {
		return err
	}
	plan, err := place.Uninstall()
	if err != nil {
		return usage("%v", err)
	}
	nothing := notInstalled
	if where, command := c.elsewhere(ctx, place); where != "" {
		nothing = "not installed here, but " + where + "; remove that with: " + command
	}
	if note := c.ungated(ctx); note != "" && len(plan.Changes) > 0 && nothing == notInstalled {
		plan.Notes = append(plan.Notes, note)
	}
	return c.apply(plan, nothing, nil)
}

const notInstalled = "not installed; nothing to change"

// ungated says that this workspace has a goal that nothing checks without hooks, or "".
func (c *installCommand) ungated(ctx context.Context) string {
	_, store, err := c.open(ctx)
	if err != nil {
		return ""
	}
	if goal, ok, err := liveGoal(store); err == nil && (!ok || goal.Ended != "") {
		return ""
	}
	return "this workspace has an active goal, and without hooks nothing checks it; end it with: ralph goal clear"
}

// warnWithoutHooks tells a person who sets a goal that no hook asks Ralph when the session stops. If the session's
// program is unknown, hooks in any will do.
func (c *goalCommand) warnWithoutHooks(project string) {
	agents := install.Agents
	if name := c.agentName(); slices.Contains(agents, name) {
		agents = []string{name}
	}
	env := c.streams.Env
	if env.Home == "" {
		return
	}
	for _, agent := range agents {
		for _, dir := range []string{"", project} {
			at := install.Place{Agent: agent, Project: dir, Home: env.Home, Lookup: env.Lookup, State: env.StateDir}
			if state, _ := at.Status(); state != install.Absent {
				return
			}
		}
	}
	if !c.globals.quiet {
		fmt.Fprintf(c.errLines(), "ralph: warning: no hooks are installed, so a session may stop without a check; install "+
			"them with: ralph install %s\n", agents[0])
	}
}

// elsewhere says whether Ralph is also installed in the user's settings or in the project, whichever the flags do not
// mean, and which command removes that.
func (c *installCommand) elsewhere(ctx context.Context, place install.Place) (where, command string) {
	other := *c
	other.project = !c.project
	at, err := other.place(ctx, place.Agent)
	if err != nil || cmp.Or(at.Project, place.Project) == at.Home { // then both are the same files
		return "", ""
	}
	plan, err := at.Uninstall()
	switch {
	case err != nil || len(plan.Changes) == 0:
		return "", ""
	case other.project:
		return "in this project", "ralph uninstall " + place.Agent + " --project"
	}
	return "for you", "ralph uninstall " + place.Agent
}

// afterInstall says what a CLI needs before the hooks run, and what to do then.
var afterInstall = map[string][]string{
	"claude": {
		"trust: Claude Code runs hooks in folders that you trust; it asks when you open one",
		"next: start claude in your project and type: /ralph:goal OBJECTIVE",
	},
	"codex": {
		"trust: Codex runs new hooks only after you have reviewed them; it asks at its next start",
		"next: start codex in your project, trust the hooks, and type: $ralph-goal OBJECTIVE",
	},
}

// apply writes a plan, or shows it.
func (c *installCommand) apply(plan install.Plan, nothing string, next []string) error {
	if !c.dryRun {
		if err := plan.Apply(); err != nil {
			return err
		}
	}
	files := []map[string]string{}
	for _, change := range plan.Changes {
		files = append(files, map[string]string{"path": change.Path, "change": changeWord(change)})
	}
	object := map[string]any{"files": files, "notes": listed(plan.Notes), "next": listed(next), "dry_run": c.dryRun}
	return c.show(object, func(out io.Writer) {
		for i, change := range plan.Changes {
			if c.dryRun {
				fmt.Fprint(c.streams.Out, colorPatch(term.CleanText(change.Patch()), c.styleOn(c.streams.OutTerm)))
				continue
			}
			fmt.Fprintf(out, "%s %s\n", files[i]["change"], term.Clean(change.Path))
		}
		for _, note := range plan.Notes {
			fmt.Fprintf(out, "note: %s\n", term.Clean(note))
		}
		if len(plan.Changes) == 0 {
			fmt.Fprintln(out, nothing)
			return
		}
		for _, step := range next {
			if !c.dryRun {
				fmt.Fprintln(out, step)
			}
		}
	})
}

func changeWord(c install.Change) string {
	switch {
	case c.Remove:
		return "removed"
	case c.Existed:
		return "changed"
	}
	return "created"
}
