package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/term"
)

// Version is set by the build.
var Version = ""

// version returns the version of the build, or else the one that the Go tool recorded.
func version() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "dev"
}

func versionLine() string {
	return fmt.Sprintf("ralph %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", GroupID: "keep", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			object := map[string]string{
				"version": version(),
				"go":      runtime.Version(),
				"os":      runtime.GOOS,
				"arch":    runtime.GOARCH,
			}
			return a.print(object, "%s", versionLine())
		},
	}
}

func newConfigCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Show the configuration", GroupID: "keep", Args: knownCommand,
		RunE: func(*cobra.Command, []string) error {
			return usage("missing subcommand; try: ralph config show")
		},
	}
	opts := &runOptions{values: map[string]*flagValue{}}
	show := &cobra.Command{
		Use: "show", Short: "Print every key, its value and where it comes from", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, loaded, err := a.settings(cmd.Context(), opts.flagValues())
			if err != nil {
				return err
			}
			rows := config.Show(loaded)
			return a.table(rows, func(out io.Writer) {
				for _, row := range rows {
					fmt.Fprintf(out, "%s\t%s\t%s\n", row.Key, term.Clean(row.Value), row.Origin)
				}
			})
		},
	}
	addKeyFlags(show.Flags(), opts.values)
	show.Flags().BoolVar(&opts.once, "once", false, "one iteration")
	show.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = true }) // accepted, but would clutter the help
	cmd.AddCommand(show)
	return cmd
}
