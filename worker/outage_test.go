package worker_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/scriptedmodel"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/anthropic"
	"github.com/ralphloop/ralph/model/openai"
	"github.com/ralphloop/ralph/runlog"
	"github.com/ralphloop/ralph/worker"
)

// outages are ways to have no answer, again and again, and a model that is well.
const outages = `{
  "503": {"conversations": [[{"faults": [{"do": "status", "status": 503, "forever": true}]}]]},
  "529": {"conversations": [[{"faults": [{"do": "status", "status": 529, "forever": true}]}]]},
  "cut": {"conversations": [[{"faults": [{"do": "cut", "forever": true}]}]]},
  "end": {"conversations": [[{"faults": [{"do": "end", "forever": true}]}]]},
  "drop": {"conversations": [[{"faults": [{"do": "drop", "forever": true}]}]]},
  "hang": {"conversations": [[{"faults": [{"do": "hang", "forever": true}]}]]},
  "ping": {"conversations": [[{"faults": [{"do": "ping", "forever": true}]}]]},
  "error": {"conversations": [[{"faults": [{"do": "error_event", "status": 529, "forever": true}]}]]},
  "well": {"conversations": [[
    {"tools": [{"shell": "echo right >greeting.txt"}]},
    {"tools": [{"name": "submit_case", "input": {"summary": "it is right", "ac_coverage": [{"criterion": "it is ` +
	`right", "addressed_by": "greeting.txt:1"}]}}]}
  ]]}
}`

// providers reach a model in both wire formats, with short waits.
var providers = map[string]func(base string) model.Client{
	"anthropic": func(base string) model.Client {
		return anthropic.New(anthropic.Options{BaseURL: base, Key: "no-key", Idle: 300 * time.Millisecond})
	},
	"openai": func(base string) model.Client {
		return openai.New(openai.Options{BaseURL: base + "/v1", Key: "no-key", Idle: 300 * time.Millisecond})
	},
}

// TestAnOutageThatDoesNotPass has a provider that fails for good: it is asked eight times, which is
// no turn, the run ends with 15, and it continues when resumed.
func TestAnOutageThatDoesNotPass(t *testing.T) {
	for name, connect := range providers {
		for _, scenario := range []string{"503", "529", "cut", "end", "drop", "hang", "ping", "error", "refused"} {
			t.Run(name+"/"+scenario, func(t *testing.T) {
				t.Parallel()
				server := serveScript(t, outages)
				base := server.URL() + "/" + scenario
				if scenario == "refused" {
					base = nobodyListens(t)
				}
				run := newOutageRun(t)
				var waits []time.Duration
				result := run.resume(t, &model.Retrier{
					Client: connect(base), Random: func() float64 { return 0 },
					Sleep: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil },
				})
				if result.ExitCode != 15 || result.StopReason != ralph.ProviderFailed || *result.Iterations[0].StepsTaken != 0 ||
					result.Iterations[0].Counted {
					t.Errorf("ended with %d %s: %+v", result.ExitCode, result.StopReason, result.Iterations)
				}
				second := time.Second
				want := []time.Duration{
					2 * second, 4 * second, 8 * second, 16 * second, 32 * second, 60 * second, 60 * second,
				}
				if diff := cmp.Diff(want, waits); diff != "" {
					t.Errorf("waits (-want +got):\n%s", diff)
				}
				if asked := len(server.Requests()); scenario != "refused" && asked != 8 {
					t.Errorf("asked %d times", asked)
				}
				if result = run.resume(t, connect(server.URL()+"/well")); result.ExitCode != 0 || len(result.Iterations) != 2 {
					t.Errorf("resumed, it ended with %d %s: %+v", result.ExitCode, result.StopReason, result.Iterations)
				}
			})
		}
	}
}

func serveScript(t *testing.T, text string) *scriptedmodel.Running {
	t.Helper()
	script, err := scriptedmodel.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	server, err := scriptedmodel.Listen("127.0.0.1:0", scriptedmodel.New(script))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// nobodyListens is an address that refuses connections.
func nobodyListens(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// outageRun is a run that can be resumed.
type outageRun struct {
	id, dir string
	store   *runlog.Store
	begun   bool
}

func newOutageRun(t *testing.T) *outageRun {
	t.Helper()
	dir := t.TempDir()
	store, err := runlog.Open(t.TempDir(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return &outageRun{id: ralph.NewRunID(time.Now()), dir: dir, store: store}
}

// resume begins or resumes the run, until it ends.
func (r *outageRun) resume(t *testing.T, client model.Client) ralph.Result {
	t.Helper()
	options := []loop.Option{loop.WithChecker(ralph.CheckFuncs{"it is right": r.isRight})}
	log, err := r.open(&options)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	policy := ralph.DefaultPolicy()
	policy.MaxFailures, policy.Outage, policy.MaxIterations, policy.Canary = 1, 0, 3, false
	loop, err := loop.New(loop.Config{
		Task:  "Make it right.",
		Agent: worker.New(worker.Options{Client: client, Model: "claude-sonnet-4-5", Env: os.Environ()}), AgentName: "worker",
		Checks: []string{"it is right"}, Dir: r.dir,
	}, append(
		options,
		loop.WithTree(folder(r.dir)),
		loop.WithPolicy(policy),
		loop.WithRecorder(log),
		loop.WithRun(r.id, ralph.RunStarted{}),
	)...)
	if err != nil {
		t.Fatal(err)
	}
	result, err := loop.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (r *outageRun) open(options *[]loop.Option) (*runlog.Log, error) {
	if !r.begun {
		r.begun = true
		return r.store.Create(r.id)
	}
	state := &fold.State{}
	log, _, err := r.store.Reopen(r.id, state)
	*options = append(*options, loop.WithState(state))
	return log, err
}

func (r *outageRun) isRight(context.Context) error {
	text, err := os.ReadFile(filepath.Join(r.dir, "greeting.txt"))
	if err == nil && !bytes.Contains(text, []byte("right")) {
		err = errors.New("it is wrong")
	}
	return err
}
