package signals

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// opened is a server of one iteration that notes what arrives.
type opened struct {
	ralph.ToolDoor
	Door
	mu    sync.Mutex
	calls []ralph.ToolCall
}

func open(t *testing.T, answer func(context.Context, ralph.ToolCall) ralph.ToolAnswer) *opened {
	t.Helper()
	o := &opened{}
	made, err := Server{Run: "RUN"}.Open(t.Context(), func(ctx context.Context, c ralph.ToolCall) ralph.ToolAnswer {
		o.mu.Lock()
		o.calls = append(o.calls, c)
		o.mu.Unlock()
		if answer != nil {
			return answer(ctx, c)
		}
		return ralph.ToolAnswer{Text: "heard"}
	})
	if err != nil {
		t.Fatal(err)
	}
	o.ToolDoor = made
	t.Cleanup(o.Close)
	_, o.Socket, _ = strings.Cut(made.Env[0], "=")
	_, o.Token, _ = strings.Cut(made.Env[1], "=")
	return o
}

func TestACallReachesTheLoop(t *testing.T) {
	o := open(t, nil)
	got := o.Call(t.Context(), "blocked", json.RawMessage(`{"reason":"no key"}`))
	if diff := cmp.Diff(ralph.ToolAnswer{Text: "heard"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]ralph.ToolCall{{Tool: ralph.ToolBlocked, Text: "no key"}}, o.calls); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(filepath.Dir(o.Socket))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the socket: %v, %v", info, err)
	}
	o.Close()
	if _, err := os.Stat(filepath.Dir(o.Socket)); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
}

func TestOtherTokensAreRefused(t *testing.T) {
	before := open(t, nil)
	before.Close()
	o, other := open(t, nil), open(t, nil)
	for name, token := range map[string]string{
		"of an earlier iteration": before.Token, "of another run": other.Token, "none": "", "a part": o.Token[:20],
	} {
		got := Door{o.Socket, token}.Call(t.Context(), "blocked", json.RawMessage(`{"reason":"x"}`))
		if !got.Failed || !strings.Contains(got.Text, "does not belong to the current iteration") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := before.Call(t.Context(), "blocked", json.RawMessage(`{"reason":"x"}`)); !got.Failed ||
		!strings.Contains(got.Text, "the run does not answer (it no longer listens)") {
		t.Errorf("after the end: %+v", got)
	}
	if len(o.calls)+len(other.calls)+len(before.calls) > 0 {
		t.Error("a refused call reached a loop")
	}
}

func TestMalformedCallsAreRefused(t *testing.T) {
	o := open(t, nil)
	huge := json.RawMessage(`{"reason":"` + strings.Repeat("x", maxRequest) + `"}`)
	for _, c := range []struct {
		tool  string
		input json.RawMessage
		want  string
	}{
		{"blocked", json.RawMessage(`{"why":"x"}`), "field why is unknown; the fields are reason"},
		{"blocked", nil, "field reason is missing"},
		{"decide", json.RawMessage(`{"question":" "}`), "field question is empty; ask one"},
		{"accept", nil, `there is no tool "accept"`},
		{"blocked", huge, "the input has more than 256 KB"},
	} {
		if diff := cmp.Diff(refuse(c.want), o.Call(t.Context(), c.tool, c.input)); diff != "" {
			t.Errorf("%s: %s", c.tool, diff)
		}
	}
	// A program of the agent's own need not keep to the limit.
	conn, err := net.Dial("unix", o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var writing sync.WaitGroup
	writing.Go(func() { _, _ = conn.Write(slices.Repeat([]byte(" "), 4*maxRequest)) })
	var answer ralph.ToolAnswer
	err = json.NewDecoder(conn).Decode(&answer)
	writing.Wait()
	want := refuse("the call cannot be read, or has more than 256 KB")
	if diff := cmp.Diff(want, answer); err != nil || diff != "" {
		t.Errorf("an endless call: %v\n%s", err, diff)
	}
	if len(o.calls) > 0 {
		t.Errorf("the loop heard %v", o.calls)
	}
}

func TestAFloodIsBounded(t *testing.T) {
	o := open(t, nil)
	var last ralph.ToolAnswer
	for range maxCalls + 1 {
		last = o.Call(t.Context(), "next_task", nil)
	}
	if !last.Failed || len(o.calls) != maxCalls {
		t.Errorf("%d calls were answered, the last one with %+v", len(o.calls), last)
	}
}

// TestTheEndCancelsWaitingCalls: calls that are being answered when the agent ends, and calls that wait
// for a place, all end.
func TestTheEndCancelsWaitingCalls(t *testing.T) {
	begun := make(chan struct{}, maxAtOnce)
	o := open(t, func(ctx context.Context, _ ralph.ToolCall) ralph.ToolAnswer {
		begun <- struct{}{}
		<-ctx.Done()
		return refuse("the iteration ends")
	})
	var waiting sync.WaitGroup
	for range maxAtOnce {
		waiting.Go(func() {
			if got := o.Call(t.Context(), "run_checks", nil); !got.Failed {
				t.Errorf("answered: %+v", got)
			}
		})
	}
	for range maxAtOnce {
		<-begun
	}
	if got := o.Call(t.Context(), "next_task", nil); !strings.Contains(got.Text, "too many calls at once") {
		t.Errorf("one call too many: %+v", got)
	}
	o.Close()
	waiting.Wait()
}

// TestARefusalIsHeardBeforeTheCallIsRead: the door may answer and hang up while the call is still written.
func TestARefusalIsHeardBeforeTheCallIsRead(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var door sync.WaitGroup
	door.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		(&session{}).reply(conn, refuse("not now"))
	})
	large := json.RawMessage(`"` + strings.Repeat("x", maxRequest-2) + `"`)
	if diff := cmp.Diff(refuse("not now"), Door{Socket: socket}.Call(t.Context(), "blocked", large)); diff != "" {
		t.Error(diff)
	}
	door.Wait()
}

func TestACallerThatHangsUpIsNotWaitedFor(t *testing.T) {
	canceled := make(chan struct{})
	begun := make(chan struct{})
	o := open(t, func(ctx context.Context, _ ralph.ToolCall) ralph.ToolAnswer {
		close(begun)
		<-ctx.Done()
		close(canceled)
		return ralph.ToolAnswer{}
	})
	ctx, hangUp := context.WithCancel(t.Context())
	go func() { <-begun; hangUp() }()
	if got := o.Call(ctx, "run_checks", nil); got.Text != "the call was canceled" {
		t.Errorf("%+v", got)
	}
	<-canceled
}

func TestACrashLeavesNothingForLong(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	folder, err := Server{Run: "DEAD"}.makeFolder()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := Server{Run: "ALIVE"}.makeFolder()
	if err != nil {
		t.Fatal(err)
	}
	Remove("DEAD")
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder of the dead run stays: %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("the folder of another run is gone: %v", err)
	}
	Remove("ALIVE")
}
