package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/term"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Say what is installed and what is missing", GroupID: "keep", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

func (a *app) doctor(ctx context.Context) error {
	workspace, err := a.workspace(ctx)
	if err != nil {
		return err
	}
	findings := assembly.Examine(ctx, workspace, a.streams.Env)
	if a.wantsJSON() {
		return a.printJSON(findings)
	}
	for _, f := range findings {
		line := fmt.Sprintf("%-8s %s", f.State, f.What)
		if f.Detail != "" {
			line += ": " + term.Clean(f.Detail)
		}
		fmt.Fprintln(a.streams.Out, strings.TrimRight(line, " "))
	}
	return nil
}
