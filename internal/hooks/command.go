package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/process"
)

// textLimit is how many bytes of a command's output are kept.
const textLimit = 4000

// blockCode is the exit code with which a command blocks.
const blockCode = 2

// message returns what a command reads.
func message(hook Name, event any) []byte {
	body, err := json.Marshal(event)
	if err != nil {
		// Only what a model wrote can be malformed in an event.
		call, _ := event.(ToolCall)
		// a string can always be encoded
		call.Input, _ = json.Marshal(strings.ToValidUTF8(string(call.Input), "\uFFFD"))
		body, _ = json.Marshal(call)
	}
	return fmt.Appendf(nil, "{\"hook\":%q,%s\n", hook, body[1:]) // the name comes before the fields of the event
}

// run asks one command.
func (s *Set) run(ctx context.Context, command, dir string, message []byte) Answer {
	input, err := inputFile(s.Mask.Bytes(message))
	defer os.Remove(input) // also if it could not be written
	if err != nil {
		return Answer{Decision: Warn, Text: "it could not be run: " + err.Error()}
	}
	var stdout, stderr head
	timeout := max(cmp.Or(s.Timeout, DefaultTimeout), 0)
	spec := process.Spec{
		Argv: process.Shell(command), Dir: dir, Env: s.Env, Marker: s.Marker, StdinFile: input, Guarded: true,
		Stdout: process.Sink{Tap: &stdout}, Stderr: process.Sink{Tap: &stderr}, Timeout: timeout, Grace: s.Grace,
		Mask: s.Mask.Writer,
	}
	if s.Enter != nil {
		s.Enter(&spec)
	}
	ended, err := process.Run(ctx, spec)
	if err != nil {
		return Answer{Decision: Warn, Text: "it could not be run: " + err.Error()}
	}
	return answer(ended, timeout, cmp.Or(stderr.text(), stdout.text()))
}

// answer interprets the end of a command.
func answer(ended process.Result, timeout time.Duration, said string) Answer {
	warn := func(what string) Answer {
		if said != "" {
			what += ": " + said
		}
		return Answer{Decision: Warn, Text: what}
	}
	switch {
	case ended.State == process.TimedOut:
		return warn(fmt.Sprintf("it did not answer within %s", timeout))
	case ended.State == process.NotStarted:
		return warn("it could not be started: " + ended.StartError.Error())
	case ended.State != process.Exited:
		return warn("it was interrupted")
	case ended.ExitCode == 0:
		return Answer{Decision: Allow, Text: said}
	case ended.ExitCode == blockCode:
		return Answer{Decision: Block, Text: cmp.Or(said, "a hook of this project refuses this without giving a reason")}
	}
	return warn(fmt.Sprintf("exit code %d", ended.ExitCode))
}

// inputFile returns the name of a file that contains text. With a file, a command that does not
// read its input needs no goroutine to feed it.
func inputFile(text []byte) (string, error) {
	file, err := os.CreateTemp("", "ralph-hook-*.json")
	if err != nil {
		return "", err
	}
	_, err = file.Write(text)
	return file.Name(), errors.Join(err, file.Close())
}

// head keeps the beginning of what is written to it.
type head struct {
	limit int // in bytes; default: textLimit
	kept  []byte
	cut   bool
}

func (h *head) Write(p []byte) (int, error) {
	room := min(cmp.Or(h.limit, textLimit)-len(h.kept), len(p))
	h.kept = append(h.kept, p[:room]...)
	h.cut = h.cut || room < len(p)
	return len(p), nil
}

func (h *head) text() string {
	text := strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(string(h.kept), "\uFFFD"), "\x00", "\uFFFD"))
	if h.cut {
		text += "\n[… the rest is cut …]"
	}
	return text
}
