// Package takeover opens the conversation of an agent in the user's terminal.
package takeover

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
)

// plainID is what session IDs look like. They come from an agent's output, so nothing else becomes an argument.
var plainID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// Command returns the command that opens an agent's session.
func Command(name, session string) ([]string, error) {
	name, _, _ = strings.Cut(name, ":") // the model
	dialect, known := agent.Find(name)
	if !known || dialect.About().Conversation == nil {
		return nil, &config.UsageError{Msg: fmt.Sprintf("%s cannot open a conversation again", name)}
	}
	if !plainID.MatchString(session) {
		return nil, &config.UsageError{Msg: fmt.Sprintf("the session ID that %s reported is not valid: %q", name, session)}
	}
	about := dialect.About()
	path, err := process.LookPath(about.Program)
	if err != nil {
		return nil, &config.UsageError{Msg: about.Program + " is not on PATH", Hint: "install " + about.Title}
	}
	return append([]string{path}, about.Conversation(session)...), nil
}
