package agent

import (
	"io"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

// Listen returns a writer that takes the standard output of an agent, in pieces of any size, and reports what the agent
// said and did. An agent without a dialect of its own is taken for one that prints text.
func Listen(name string, live func(ralph.Activity)) io.WriteCloser {
	dialect, known := Find(name)
	if !known {
		dialect = command{}
	}
	r := &stream.Reading{Live: live, Now: time.Now}
	reader := dialect.newReader(r)
	r.Hear(ralph.AgentInput{Live: live})
	return listener{reader}
}

// listener is a reader of a stream as an io.WriteCloser.
type listener struct{ stream.Reader }

// Close reports what the last, unfinished line says.
func (l listener) Close() error {
	l.Reader.Close()
	return nil
}
