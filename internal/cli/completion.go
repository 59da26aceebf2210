package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/term"
)

// addCompletions lets shells complete runs, tasks, agents and every flag with a fixed set of
// values.
func (a *app) addCompletions(root *cobra.Command) {
	choose := func(cmd *cobra.Command, flag string, values []string) {
		// This fails only if the command has no such flag or completes it already.
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	agents := append(slices.Clone(config.AgentCLIs), config.Worker)
	forEachCommand(root, func(cmd *cobra.Command) {
		_, argument, _ := strings.Cut(cmd.Use, " ")
		switch {
		case cmd.ValidArgsFunction != nil || len(cmd.ValidArgs) > 0:
		case strings.HasPrefix(strings.TrimPrefix(argument, "["), "RUN"):
			cmd.ValidArgsFunction = a.completeRuns
		case argument == "ID...":
			cmd.ValidArgsFunction = a.completeTasks
		case argument == "" || argument == "[GOAL] [-- AGENT ARGS]":
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
		for _, key := range config.Keys() {
			if key.Flag != "" && len(key.Choices) > 0 {
				choose(cmd, key.Flag, key.Choices)
			}
		}
		choose(cmd, "fallback", agents)
		choose(cmd, "evaluator", agents)
		_ = cmd.RegisterFlagCompletionFunc("task", a.completeTasks) // as above
	})
}

func forEachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, c := range cmd.Commands() {
		forEachCommand(c, do)
	}
}

// completeRuns offers the runs of the workspace, newest first, each with its status and goal.
func (a *app) completeRuns(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_, store, err := a.open(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	runs, err := store.Runs()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, r := range runs {
		about := cmp.Or(r.SpecFile, r.Goal, r.TaskFile)
		names = append(names, r.Run+"\t"+summaryStatus(r)+", "+term.Shorten(term.Clean(about), 40))
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeTasks offers the tasks of the project's list. For `ralph tasks done` it offers those
// that are not done, for `ralph tasks reopen` those that are.
func (a *app) completeTasks(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	workspace, loaded, err := a.settings(cmd.Context(), map[string][]string{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	list, err := assembly.TaskList(workspace, loaded.Settings)
	if err != nil || list == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, t := range list.Tasks() {
		isDone := t.Status == ralph.TaskDone
		if cmd.Name() == "done" && isDone || cmd.Name() == "reopen" && !isDone {
			continue
		}
		names = append(names, t.ID+"\t"+term.Shorten(term.Clean(t.Title), 60))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
