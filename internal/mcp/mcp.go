// Package mcp offers a run's tools to its agent as an MCP server on standard input and output. It only
// passes calls on: the loop answers them.
package mcp

import (
	"context"
	"errors"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ralphloop/ralph/internal/signals"
)

// maxMessage is the largest message from the client, in bytes. The loop accepts less.
const maxMessage = 1 << 20

// instructions are for the model, from clients that pass them on.
const instructions = "Report to Ralph, which runs you in a loop, with these tools. " +
	"A claim is judged after you have ended."

// Serve serves the tools until in ends.
func Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser, door signals.Door, version string) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "ralph", Version: version}, &sdk.ServerOptions{
		Instructions: instructions,
	})
	no := false
	for _, tool := range signals.Tools() {
		// They change no file, and a client that asks before other tools has no one to ask.
		server.AddTool(&sdk.Tool{
			Name: string(tool.Name), Description: tool.Doc, InputSchema: tool.Schema(),
			Annotations: &sdk.ToolAnnotations{
				ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no,
			},
		}, func(ctx context.Context, call *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			answer := door.Call(ctx, call.Params.Name, call.Params.Arguments)
			return &sdk.CallToolResult{
				Content: []sdk.Content{&sdk.TextContent{Text: answer.Text}}, IsError: answer.Failed,
			}, nil
		})
	}
	err := server.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: maxMessage})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil // the agent has ended
	}
	return err
}
