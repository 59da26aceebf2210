package worker

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/secrets"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

const (
	maxTranscriptBytes = 16 << 20 // bytes of the whole file
	maxTextBytes       = 64 << 10 // bytes of one message's text
	maxDetailBytes     = 8 << 10  // bytes of one call's input, and of one result
)

// transcript keeps the conversation for people, one JSON object per message. The first error is
// kept and ends the run.
type transcript struct {
	file  *os.File // nil if nothing is kept
	bytes int64    // size of the conversation, kept or not
	full  bool
	err   error
	mask  *secrets.Masker
}

// entry is one line of a transcript.
type entry struct {
	Time    time.Time     `json:"time"`
	Role    model.Role    `json:"role"`
	Turn    int           `json:"turn,omitempty"`
	Text    string        `json:"text,omitempty"`
	Calls   []entryCall   `json:"calls,omitempty"`
	Results []entryResult `json:"results,omitempty"`
	Model   string        `json:"model,omitempty"`
	End     model.End     `json:"end,omitempty"`
	Usage   *ralph.Tokens `json:"usage,omitempty"`
	Error   string        `json:"error,omitempty"` // why there was no reply
}

type entryCall struct {
	ID    string `json:"id,omitempty"`
	Name  string `json:"name"`
	Input any    `json:"input,omitempty"` // as is, or as text if it is not JSON or too long
}

type entryResult struct {
	ID     string `json:"id,omitempty"`
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

// openTranscript begins a transcript and writes the prompt beside it. Without a folder it keeps
// nothing.
func openTranscript(folder, prompt string) (*transcript, error) {
	if folder == "" {
		return &transcript{}, nil
	}
	if err := os.WriteFile(filepath.Join(folder, "prompt.md"), []byte(prompt), 0o600); err != nil {
		return nil, fmt.Errorf("write prompt: %w: %w", ralph.ErrIO, err)
	}
	file, err := os.OpenFile(filepath.Join(folder, "agent.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make transcript: %w: %w", ralph.ErrIO, err)
	}
	return &transcript{file: file}, nil
}

// message records a message.
func (t *transcript) message(m model.Message, more entry) {
	more.Role, more.Text = m.Role, truncate(m.Text, maxTextBytes)
	for _, c := range m.Calls {
		more.Calls = append(more.Calls, entryCall{ID: c.ID, Name: c.Name, Input: jsonInput(c.Input)})
	}
	for _, r := range m.Results {
		more.Results = append(more.Results, entryResult{ID: r.ID, Text: truncate(r.Text, maxDetailBytes), Failed: r.Failed})
	}
	t.write(more)
}

func (t *transcript) write(e entry) {
	e.Time = time.Now().UTC()
	line, err := json.Marshal(e)
	if err != nil {
		t.fail(err)
		return
	}
	line = append(t.mask.Bytes(line), '\n')
	t.bytes += int64(len(line))
	switch {
	case t.file == nil || t.err != nil || t.full:
	case t.bytes > maxTranscriptBytes:
		t.full = true
	default:
		_, err := t.file.Write(line)
		t.fail(err)
	}
}

func (t *transcript) fail(err error) {
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("write transcript: %w: %w", ralph.ErrIO, err)
	}
}

func (t *transcript) close() error {
	if t.file != nil {
		t.fail(t.file.Close())
		t.file = nil
	}
	return t.err
}

// jsonInput returns a call's input as a value that can be encoded as JSON.
func jsonInput(input json.RawMessage) any {
	switch {
	case len(input) == 0:
		return nil
	case len(input) <= maxDetailBytes && json.Valid(input):
		return input
	}
	return truncate(string(input), maxDetailBytes)
}

// truncate keeps the beginning of a long text and says so.
func truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return fmt.Sprintf("%s [… %d bytes more]", strings.ToValidUTF8(text[:limit], ""), len(text)-limit)
}

// ListenTranscript returns a writer that takes a transcript, in pieces of any size, and reports
// what the worker said and did.
func ListenTranscript(live func(ralph.Activity)) io.WriteCloser {
	read, write := io.Pipe()
	l := &transcriptListener{PipeWriter: write, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		lines := json.NewDecoder(read)
		for {
			var e entry
			if err := lines.Decode(&e); err != nil {
				_, _ = io.Copy(io.Discard, read) // an unfinished or broken line ends what can be shown
				return
			}
			e.report(live)
		}
	}()
	return l
}

type transcriptListener struct {
	*io.PipeWriter
	done chan struct{}
}

// Close waits until everything is reported.
func (l *transcriptListener) Close() error {
	err := l.PipeWriter.Close()
	<-l.done
	return err
}

// report says what the worker's model wrote and called.
func (e entry) report(live func(ralph.Activity)) {
	if e.Role != model.Assistant {
		return
	}
	if words := promise.OneLine(e.Text, shownSize); words != "" {
		live(ralph.Activity{Kind: "text", Detail: words})
	}
	for _, c := range e.Calls {
		input, err := json.Marshal(c.Input)
		if err != nil {
			continue
		}
		live(ralph.Activity{Kind: "tool", Name: promise.OneLine(c.Name, shownSize), Detail: detailOf(input)})
	}
}
