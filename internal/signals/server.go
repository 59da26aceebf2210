package signals

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/diskuse"
)

const (
	maxRequest = 256 << 10        // bytes
	maxAtOnce  = 8                // calls
	maxCalls   = 2000             // in one iteration
	patience   = 10 * time.Second // for a request to arrive, and for an answer to be read
	// maxSocketPath is the longest path that every system allows for a socket.
	maxSocketPath = 100
)

// Server opens a socket for each iteration of a run.
type Server struct {
	Run string // its id
}

var _ ralph.ToolServer = Server{}

// request is one call. It is one JSON value.
type request struct {
	Token string          `json:"token"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input,omitempty"`
}

// session is the door of one iteration.
type session struct {
	token    string
	answer   func(context.Context, ralph.ToolCall) ralph.ToolAnswer
	listener net.Listener
	folder   string
	ctx      context.Context
	cancel   context.CancelFunc
	handlers sync.WaitGroup
	atOnce   chan struct{}

	mu    sync.Mutex
	calls int
}

// Open implements ralph.ToolServer.
func (s Server) Open(
	ctx context.Context, answer func(context.Context, ralph.ToolCall) ralph.ToolAnswer,
) (ralph.ToolDoor, error) {
	folder, err := s.makeFolder()
	if err != nil {
		return ralph.ToolDoor{}, fmt.Errorf("make a folder for the agent's socket: %w", err)
	}
	socket := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return ralph.ToolDoor{}, errors.Join(fmt.Errorf("listen to the agent: %w", err), os.RemoveAll(folder))
	}
	ctx, cancel := context.WithCancel(ctx)
	door := &session{
		token: rand.Text() + rand.Text(), answer: answer, listener: listener, folder: folder, ctx: ctx, cancel: cancel,
		atOnce: make(chan struct{}, maxAtOnce),
	}
	door.handlers.Go(door.accept)
	env := []string{ralph.ToolSocketVariable + "=" + socket, ralph.ToolTokenVariable + "=" + door.token}
	return ralph.ToolDoor{Env: env, Close: door.close}, nil
}

// makeFolder makes a folder that only this user can enter, with a path that is short enough.
func (s Server) makeFolder() (string, error) {
	var failed error
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		folder, err := os.MkdirTemp(parent, folderPrefix(s.Run))
		if err == nil && len(folder)+len("/s") <= maxSocketPath {
			return folder, nil
		}
		if err == nil {
			err = errors.Join(fmt.Errorf("the path %s is too long", folder), os.Remove(folder))
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}

func folderPrefix(run string) string { return "ralph-mcp-" + run + "-" }

// Remove removes the folders that a run left when its process died.
func Remove(run string) {
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		folders, _ := filepath.Glob(filepath.Join(parent, folderPrefix(run)+"*")) // the pattern is valid
		for _, folder := range folders {
			if info, err := os.Lstat(folder); err == nil && info.IsDir() && diskuse.Mine(info) {
				_ = os.RemoveAll(folder) // it is empty but for the socket, and ralph clean finds it later
			}
		}
	}
}

func (d *session) close() {
	d.cancel()
	_ = d.listener.Close()
	d.handlers.Wait()
	_ = os.RemoveAll(d.folder) // what remains is an empty folder, which ralph clean finds
}

func (d *session) accept() {
	for {
		conn, err := d.listener.Accept()
		if err != nil {
			if d.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			select { // too many open files, for example
			case <-d.ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		select {
		case d.atOnce <- struct{}{}:
			d.handlers.Go(func() {
				defer func() { <-d.atOnce }()
				d.serve(conn)
			})
		default:
			d.reply(conn, refuse("too many calls at once; wait for the answers"))
		}
	}
}

// serve answers the one call of a connection.
func (d *session) serve(conn net.Conn) {
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
	defer stop()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	var asked request
	if err := json.NewDecoder(io.LimitReader(conn, maxRequest)).Decode(&asked); err != nil {
		d.reply(conn, refuse(fmt.Sprintf("the call cannot be read, or has more than %d KB", maxRequest>>10)))
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	var hungUp sync.WaitGroup
	hungUp.Go(func() {
		_, _ = io.Copy(io.Discard, conn) // until the caller hangs up, or we do
		cancel()
	})
	d.reply(conn, d.handle(ctx, asked))
	hungUp.Wait()
}

func (d *session) handle(ctx context.Context, asked request) ralph.ToolAnswer {
	if subtle.ConstantTimeCompare([]byte(asked.Token), []byte(d.token)) != 1 {
		return refuse("this call does not belong to the current iteration: its token is that of another run or of an " +
			"iteration that has ended")
	}
	d.mu.Lock()
	d.calls++
	tooMany := d.calls > maxCalls
	d.mu.Unlock()
	if tooMany {
		return refuse(fmt.Sprintf("this iteration has used its %d calls", maxCalls))
	}
	signal, err := read(asked.Tool, asked.Input)
	if err != nil {
		return refuse(err.Error())
	}
	return d.answer(ctx, signal)
}

func refuse(why string) ralph.ToolAnswer { return ralph.ToolAnswer{Text: why, Failed: true} }

// reply answers and hangs up.
func (d *session) reply(conn net.Conn, answer ralph.ToolAnswer) {
	_ = conn.SetWriteDeadline(time.Now().Add(patience))
	_ = json.NewEncoder(conn).Encode(answer) // a caller that is gone needs no answer
	_ = conn.Close()
}
