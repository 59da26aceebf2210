package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/worker/interview"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/plan"
)

// onePlan is a plan that lints.
const onePlan = `{"overview":"o","tasks":[{"id":"T-1","title":"t","description":"d","acceptance":["a"],` +
	`"checks":["sh t.sh"]}]}`

// heard is one request to a model, as it arrived.
type heard struct {
	key   string
	model string
	tools []string
	first string // what the model is told
}

// planningServer is a model on loopback that submits onePlan at once.
func planningServer(t *testing.T) (base string, all *[]heard) {
	t.Helper()
	all = &[]heard{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model    string
			Tools    []struct{ Function struct{ Name string } }
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		h := heard{key: r.Header.Get("Authorization"), model: body.Model, first: body.Messages[1].Content}
		for _, tool := range body.Tools {
			h.tools = append(h.tools, tool.Function.Name)
		}
		*all = append(*all, h)
		arguments, _ := json.Marshal(onePlan)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(
			w,
			`data: {"id":"c","model":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"1",`+
				`"type":"function","function":{"name":"write_plan","arguments":%s}}]},"finish_reason":null}]}`+"\n\n",
			arguments,
		)
		fmt.Fprint(
			w,
			`data: {"id":"c","model":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],`+
				`"usage":{"prompt_tokens":10,"completion_tokens":5}}`+"\n\ndata: [DONE]\n\n",
		)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", all
}

// planRequest is a workspace with some files, and settings for it.
func planRequest(t *testing.T, set []string, environ ...string) assembly.Request {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"Makefile": "test:\n\t./t\n", "src/a.c": "", ".git/HEAD": ""} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	env := config.Env{Environ: append(environ, "PATH="+os.Getenv("PATH"))}
	loaded, err := config.Load(config.Input{Env: env, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return assembly.Request{Env: env, Settings: loaded.Settings, Workspace: workspace.Workspace{Dir: dir}}
}

func TestThePlannersModelIsTheWorkersWhereNothingElseIsSaid(t *testing.T) {
	worker, atWorker := planningServer(t)
	own, atOwn := planningServer(t)
	environ := []string{"WORKER_KEY=for-the-worker", "OWN_KEY=for-the-planner"}
	workers := []string{
		"worker.provider=openai", "worker.model=w", "worker.base_url=" + worker, "worker.api_key_env=WORKER_KEY",
	}
	for name, c := range map[string]struct {
		set        []string
		at         *[]heard
		model, key string
	}{
		"all of it":     {nil, atWorker, "w", "Bearer for-the-worker"},
		"another model": {[]string{"planner.model=p"}, atWorker, "p", "Bearer for-the-worker"},
		"another key":   {[]string{"planner.api_key_env=OWN_KEY"}, atWorker, "w", "Bearer for-the-planner"},
		"another place": {
			[]string{"planner.base_url=" + own, "planner.model=p", "planner.api_key_env=OWN_KEY"}, atOwn, "p",
			"Bearer for-the-planner",
		},
		"another place gets no old key": {[]string{"planner.base_url=" + own, "planner.model=p"}, atOwn, "p", ""},
	} {
		t.Run(name, func(t *testing.T) {
			*atWorker, *atOwn = nil, nil
			p, err := New(Request{Request: planRequest(t, append(workers, c.set...), environ...)})
			if err != nil {
				t.Fatal(err)
			}
			out, err := p.Interview(t.Context(), Talk{Brief: "what is wanted"})
			if err != nil || out.Status != interview.Written {
				t.Fatalf("%v: %+v", err, out)
			}
			if len(*atWorker)+len(*atOwn) != 1 || len(*c.at) != 1 {
				t.Fatalf("%d requests to the worker's, %d to its own", len(*atWorker), len(*atOwn))
			}
			got := (*c.at)[0]
			want := heard{
				key: c.key, model: c.model, tools: []string{"read_file", "glob", "grep", "ask_user", "write_plan"},
				first: got.first,
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(heard{})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestWhatAPlannerIsTold(t *testing.T) {
	base, all := planningServer(t)
	set := []string{
		"worker.provider=openai", "worker.model=w", "worker.base_url=" + base, "checks.task_tests=tests/{id}_*.sh",
		"checks.hidden=secret command",
	}
	p, err := New(Request{Request: planRequest(t, set)})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Interview(t.Context(), Talk{Brief: "what is wanted"})
	if err != nil {
		t.Fatal(err)
	}
	want := "# Brief\n\nwhat is wanted\n\n# What is known about the project\n\nAt the top level: Makefile, src/\n" +
		"Besides its own checks, every task must pass: make test\n" +
		"The tests of a task are the files tests/{id}_*.sh, with its id in place of {id}.\n"
	if diff := cmp.Diff(want, (*all)[0].first); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	file, err := p.Land(out)
	if err != nil || file != plan.OwnPath {
		t.Errorf("%s: %v", file, err)
	}
	list, err := assembly.TaskList(p.request.Workspace, p.request.Settings)
	if err != nil || len(list.Tasks()) != 1 {
		t.Errorf("%v: %v", list, err)
	}
}

func TestAPlannerThatIsInterrupted(t *testing.T) {
	base, all := planningServer(t)
	set := []string{"worker.provider=openai", "worker.model=w", "worker.base_url=" + base}
	p, err := New(Request{Request: planRequest(t, set)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := p.Interview(ctx, Talk{Brief: "what is wanted"})
	if err != nil || StopReason(out) != ralph.Interrupted || len(*all) > 0 {
		t.Errorf("%v: %+v", err, out)
	}
}

func TestStopReason(t *testing.T) {
	for want, all := range map[ralph.StopReason][]Interview{
		"":                   {{Status: interview.Written, End: ralph.EndOK}},
		ralph.NeedsDecision:  {{Status: interview.NeedsAnswers, End: ralph.EndOK}},
		ralph.MaxCost:        {{Status: interview.OverBudget, End: ralph.EndOK}},
		ralph.AuthError:      {{Status: interview.Failed, End: ralph.EndAuth}},
		ralph.RateLimited:    {{Status: interview.Failed, End: ralph.EndLimit}},
		ralph.ProviderFailed: {{Status: interview.Failed, End: ralph.EndProvider}},
		ralph.Interrupted:    {{Status: interview.Failed, End: ralph.EndInterrupted}},
		ralph.AgentFailed: {
			{Status: interview.NoPlan, End: ralph.EndOK}, {Status: interview.NoPlan, End: ralph.EndEmpty},
			{Status: interview.Failed, End: ralph.EndFailed},
		},
	} {
		for _, out := range all {
			if got := StopReason(out); got != want {
				t.Errorf("%s, %s: %q, want %q", out.Status, out.End, got, want)
			}
		}
	}
}

func TestTroubleWithAListIsTheUsersOrTheDisks(t *testing.T) {
	var p Planner
	for name, c := range map[string]struct {
		err  error
		disk bool
		hint string
	}{
		"a path": {
			fmt.Errorf("write task list: %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}), true, "",
		},
		"a rename":           {&os.LinkError{Op: "rename", Old: "a", New: "b", Err: fs.ErrPermission}, true, ""},
		"our own, untouched": {&plan.ExistsError{Format: "ralph", Tasks: 2}, false, "--force replaces it"},
		"our own, begun": {
			&plan.ExistsError{Format: "ralph", Tasks: 2, Done: 1}, false,
			"--keep-existing adds the new tasks to it; --tasks FILE",
		},
		"another format": {
			&plan.ExistsError{List: "prd.json", Format: "stories", Tasks: 2}, false, "ralph tasks import prd.json",
		},
		"broken":   {&plan.ExistsError{}, false, "fix it"},
		"problems": {plan.Problems{{Text: "the id T-1 is used twice"}}, false, "the id T-1 is used twice"},
	} {
		got := p.classifyListError(c.err)
		_, misuse := errors.AsType[*config.UsageError](got)
		if errors.Is(got, ralph.ErrIO) != c.disk || misuse == c.disk || !strings.Contains(got.Error(), c.hint) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestACapNeedsAPrice(t *testing.T) {
	set := []string{
		"worker.provider=openai", "worker.model=" + "nobody-knows", "worker.base_url=http://127.0.0.1:9/v1", "max_cost=1",
	}
	if _, known := model.PriceOf("nobody-knows"); known {
		t.Fatal("somebody knows")
	}
	_, err := New(Request{Request: planRequest(t, set)})
	if _, misuse := errors.AsType[*config.UsageError](err); !misuse {
		t.Errorf("without a price: %v", err)
	}
	for _, more := range []string{"allow_unmetered=true", "prices=nobody-knows=1/2/1/1"} {
		if _, err := New(Request{Request: planRequest(t, append(set, more))}); err != nil {
			t.Errorf("%s: %v", more, err)
		}
	}
}

func TestWhoPlans(t *testing.T) {
	for name, c := range map[string]struct {
		set     []string
		environ []string
		named   bool
		agent   bool
	}{
		"nothing is set":        {nil, nil, false, true},
		"a key":                 {nil, []string{"OPENAI_API_KEY=k"}, false, false},
		"a key and a named one": {[]string{"agent.name=claude"}, []string{"OPENAI_API_KEY=k"}, true, true},
		"a key and an agent of the configuration": {
			[]string{"agent.name=claude"}, []string{"ANTHROPIC_API_KEY=k"}, false, false,
		},
		"the planner's model":   {[]string{"planner.model=m"}, nil, false, false},
		"the worker's provider": {[]string{"worker.provider=anthropic"}, nil, false, false},
		"the worker's server":   {[]string{"worker.base_url=http://127.0.0.1:9/v1"}, nil, false, false},
		"the agent's model":     {[]string{"agent.model=m"}, nil, false, true},
		"the built-in worker":   {[]string{"agent.name=worker"}, nil, true, false},
		"a command":             {[]string{"agent.command=true"}, nil, false, true},
	} {
		req := Request{Request: planRequest(t, c.set, c.environ...), AgentNamed: c.named}
		if got := req.usesAgent(); got != c.agent {
			t.Errorf("%s: an agent plans: %t, want %t", name, got, c.agent)
		}
	}
}
