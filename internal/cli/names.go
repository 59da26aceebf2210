package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wordsAreArguments marks a command that does something by itself, and whose further words the page lists as arguments.
const wordsAreArguments = "words are arguments"

// Commands lists the commands that a user can call, each with the words that lead to it, such as "config show".
func Commands() []string {
	var names []string
	var walk func(prefix string, commands []*cobra.Command)
	walk = func(prefix string, commands []*cobra.Command) {
		for _, c := range commands {
			if c.Hidden {
				continue
			}
			name := strings.TrimSpace(prefix + " " + c.Name())
			if c.HasSubCommands() && c.Annotations[wordsAreArguments] == "" {
				walk(name, c.Commands())
			} else {
				names = append(names, name)
			}
		}
	}
	walk("", commands(&app{}))
	return append(names, "completion") // cobra adds it when it is executed
}

// RunFlags lists the flags of `ralph run` that work in this version, global ones aside.
func RunFlags() []string {
	var names []string
	newRunCommand(&app{}).Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}
