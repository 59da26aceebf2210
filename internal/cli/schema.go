package cli

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
)

// schemaCommand is `ralph schema`.
type schemaCommand struct{ *app }

func newSchemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "schema config|tasks|event|result", Short: "Print the JSON schema of a file format", GroupID: "keep",
		ValidArgs: []string{"config", "tasks", "event", "result"},
		Args:      exactlyOne("needs one of: config, tasks, event, result"),
		RunE:      func(_ *cobra.Command, args []string) error { return schemaCommand{a}.run(args[0]) },
	}
}

func (c schemaCommand) run(of string) error {
	switch of {
	case "config":
		return c.printJSON(json.RawMessage(config.Schema()))
	case "result":
		return c.printSchema(reflect.TypeFor[ralph.Result](), "The result of a run")
	case "event":
		return c.printSchema(reflect.TypeFor[loggedEvent](), "One line of a run's log")
	case "tasks":
		return c.printSchema(reflect.TypeFor[taskFile](), "The task list .ralph/tasks.json")
	}
	return usage("ralph schema %s: choose one of: config, tasks, event, result", of)
}

// loggedEvent is one line of events.jsonl.
type loggedEvent struct {
	ralph.Event
	Prev string `json:"prev,omitempty" jsonschema:"SHA-256 over the bytes of the line before"`
	Sum  string `json:"sum" jsonschema:"CRC-32C over the bytes of the line before the sum, in eight hexadecimal digits"`
}

// taskFile is .ralph/tasks.json, and what `ralph tasks list --json` prints for every format.
type taskFile struct {
	Schema  string       `json:"$schema,omitempty"`
	Version int          `json:"version"`
	Tasks   []ralph.Task `json:"tasks"`
}

func (c schemaCommand) printSchema(of reflect.Type, title string) error {
	schema, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[ralph.Span](): {Type: "number", Description: "seconds"},
		reflect.TypeFor[ralph.TaskStatus](): {
			Type: "string",
			Enum: []any{ralph.TaskPending, ralph.TaskDone, ralph.TaskFailed},
		},
		reflect.TypeFor[ralph.ProofRule](): {
			Type: "string",
			Enum: []any{ralph.ProofShown, ralph.ProofUnbroken},
		},
	}})
	if err != nil {
		return fmt.Errorf("make schema: %w", err)
	}
	schema.Schema, schema.Title = "https://json-schema.org/draft/2020-12/schema", title
	return c.printJSON(schema)
}
