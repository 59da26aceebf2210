package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// offer is `ralph` alone: three ways on for a person, help and a usage error for a script.
func (a *app) offer(cmd *cobra.Command) error {
	if !a.streams.InTerm || !a.streams.ErrTerm {
		cmd.SetOut(a.streams.Err)
		if err := cmd.Help(); err != nil {
			return fmt.Errorf("print help: %w", err)
		}
		return usage("no command; try: ralph demo")
	}
	fmt.Fprint(a.streams.Err, `Ralph runs a coding agent until its work is proven.

  1  see it: the whole loop on a sample project, no key needed   ralph demo
  2  run it here: say what is to be done                         ralph run "…"
  3  look what is installed                                      ralph doctor

Which? [1] `)
	in := bufio.NewReader(a.streams.In)
	answer, err := in.ReadString('\n')
	if err != nil { // the terminal was closed: nobody chose anything
		fmt.Fprintln(a.streams.Err)
		return nil
	}
	switch strings.TrimSpace(answer) {
	case "", "1":
		return a.again(cmd, "demo")
	case "2":
		fmt.Fprint(a.streams.Err, "What is to be done? ")
		goal, _ := in.ReadString('\n')
		return a.again(cmd, "run", "--goal", strings.TrimSpace(goal))
	case "3":
		return a.again(cmd, "doctor")
	}
	return usage("%q is none of 1, 2, 3", strings.TrimSpace(answer))
}

// again runs another command in place of this one.
func (a *app) again(cmd *cobra.Command, args ...string) error {
	root := cmd.Root()
	root.SetArgs(args)
	return root.ExecuteContext(cmd.Context())
}
