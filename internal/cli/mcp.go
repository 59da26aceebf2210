package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/mcp"
	"github.com/ralphloop/ralph/internal/signals"
)

func newMCPCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "mcp", Short: "Serve a run's tools to its agent, over MCP", GroupID: "keep", Args: noArguments,
		Long: `Serve a run's tools to its agent, as an MCP server on standard input and output.

Ralph passes this server to the agents that support MCP (agent.mcp). An agent
command of your own finds ` + ralph.ToolSocketVariable + ` and ` + ralph.ToolTokenVariable + `
in its environment and can start the server itself. Each call is for the current
iteration of that run alone. A tool reports; the loop decides.`,
		Example: `  ralph run "make the tests pass" --set agent.mcp=off`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			socket, _ := a.streams.Env.Lookup(ralph.ToolSocketVariable)
			token, _ := a.streams.Env.Lookup(ralph.ToolTokenVariable)
			if socket == "" || token == "" {
				return usage("ralph mcp serves an agent inside a run, which sets %s and %s",
					ralph.ToolSocketVariable, ralph.ToolTokenVariable)
			}
			door := signals.Door{Socket: socket, Token: token}
			return mcp.Serve(cmd.Context(), io.NopCloser(a.streams.In), notClosed{a.streams.Out}, door, version())
		},
	}
}

// notClosed is a stream that this process keeps open.
type notClosed struct{ io.Writer }

func (notClosed) Close() error { return nil }
