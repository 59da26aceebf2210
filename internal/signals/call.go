package signals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/ralphloop/ralph"
)

const (
	maxAnswer = 1 << 20 // bytes
	connect   = 5 * time.Second
)

// Door is where the calls of one iteration's agent go.
type Door struct{ Socket, Token string }

// Call makes one call. If the loop does not answer, the answer says why.
func (d Door) Call(ctx context.Context, tool string, input json.RawMessage) ralph.ToolAnswer {
	if len(input) > maxRequest {
		return refuse(fmt.Sprintf("the input has more than %d KB", maxRequest>>10))
	}
	answer, err := d.ask(ctx, request{Token: d.Token, Tool: tool, Input: input})
	switch {
	case ctx.Err() != nil:
		return refuse("the call was canceled")
	case err != nil:
		return refuse(fmt.Sprintf("the run does not answer (%v); its iteration has probably ended. "+
			"If you are still at work, print a promise tag instead, as your instructions say", err))
	}
	return answer
}

func (d Door) ask(ctx context.Context, asked request) (ralph.ToolAnswer, error) {
	var answer ralph.ToolAnswer
	conn, err := (&net.Dialer{Timeout: connect}).DialContext(ctx, "unix", d.Socket)
	if err != nil {
		return answer, errors.New("it no longer listens")
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	// A call that is refused unread cannot be written to its end, and has an answer all the same.
	_ = json.NewEncoder(conn).Encode(asked)
	if err := json.NewDecoder(io.LimitReader(conn, maxAnswer)).Decode(&answer); err != nil {
		return answer, errors.New("it hung up")
	}
	return answer, nil
}
