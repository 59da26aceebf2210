package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callTools is a program for scripts: an MCP client that starts `ralph mcp`, as an agent does, and calls
// tools one after the other. Its arguments are names of tools, each followed by its input. It prints the
// answers. It exits with 1 if the last answer is an error, and with 2 if there is none.
func callTools() {
	failed, err := callAll(context.Background(), os.Args[1:])
	if err != nil {
		fmt.Println("no answer:", err)
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}

func callAll(ctx context.Context, calls []string) (failed bool, err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "script", Version: "1"}, nil)
	server := exec.Command("ralph", "mcp")
	server.Stderr = os.Stdout
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		return false, err
	}
	defer session.Close()
	if len(calls) == 0 {
		return false, printTools(ctx, session)
	}
	for i := 0; i+1 < len(calls); i += 2 {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{
			Name: calls[i], Arguments: json.RawMessage(calls[i+1]),
		})
		if err != nil {
			return false, err
		}
		for _, part := range result.Content {
			if text, ok := part.(*mcp.TextContent); ok {
				fmt.Printf("%s: %s\n", calls[i], text.Text)
			}
		}
		failed = result.IsError
	}
	return failed, nil
}

func printTools(ctx context.Context, session *mcp.ClientSession) error {
	listed, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	for _, tool := range listed.Tools {
		fmt.Println(tool.Name)
	}
	return nil
}
