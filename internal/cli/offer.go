package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// offer is `ralph` alone: three ways on for a person, help and a usage error for a script.
func (c rootCommand) offer(cmd *cobra.Command) error {
	if !c.streams.InTerm || !c.streams.ErrTerm {
		cmd.SetOut(c.streams.Err)
		if err := cmd.Help(); err != nil {
			return fmt.Errorf("print help: %w", err)
		}
		return usage("no command; try: ralph demo")
	}
	fmt.Fprint(c.streams.Err, `Ralph runs a coding agent until its work is proven.

  1  see it: the whole loop on a sample project, no key needed   ralph demo
  2  run it here: say what is to be done                         ralph run "…"
  3  look what is installed                                      ralph doctor

Which? [1] `)
	in := bufio.NewReader(c.streams.In)
	answer, err := in.ReadString('\n')
	if err != nil { // the terminal was closed: nobody chose anything
		fmt.Fprintln(c.streams.Err)
		return nil
	}
	switch strings.TrimSpace(answer) {
	case "", "1":
		return again(cmd, "demo")
	case "2":
		fmt.Fprint(c.streams.Err, "What is to be done? ")
		goal, _ := in.ReadString('\n')
		return again(cmd, "run", "--goal", strings.TrimSpace(goal))
	case "3":
		return again(cmd, "doctor")
	}
	return usage("%q is none of 1, 2, 3", strings.TrimSpace(answer))
}

// again runs another command in place of this one.
func again(cmd *cobra.Command, args ...string) error {
	root := cmd.Root()
	root.SetArgs(args)
	return root.ExecuteContext(cmd.Context())
}
