//go:build unix

package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
)

var untimed = cmpopts.IgnoreFields(Run{}, "Duration")

func testSet() *Set {
	return &Set{Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/somebody"}, Grace: 100 * time.Millisecond}
}

func call(dir, tool, input string) ToolCall {
	return ToolCall{
		Where: Where{Run: "r1", Iteration: 3, Task: "T-001", Dir: dir}, Tool: tool, Input: json.RawMessage(input),
	}
}

func TestZeroSetHasTheBuiltInRules(t *testing.T) {
	const whySudo = "refused: sudo is not allowed; work with the permissions that you have, or report what is missing"
	var s Set
	allowed := Verdict{Runs: []Run{{Hook: PreTool, By: "built-in", Decision: Allow}}}
	refused := Verdict{
		Blocked: true, Text: whySudo, Runs: []Run{{Hook: PreTool, By: "built-in", Decision: Block, Text: whySudo}},
	}
	for _, test := range []struct {
		tool, input string
		want        Verdict
	}{
		{"bash", `{"command":"ls"}`, allowed},
		{"bash", `{"command":"sudo ls"}`, refused},
		{"bash", `{"command":"sudo ls","timeout_seconds":3}`, refused},
		{"write_file", `{"command":"sudo ls"}`, allowed},
		{"bash", `{"command":7}`, allowed},
		{"bash", `{"command"`, allowed},
		{"bash", ``, allowed},
		{"bash", `null`, allowed},
	} {
		got := s.BeforeTool(t.Context(), call(t.TempDir(), test.tool, test.input))
		if diff := cmp.Diff(test.want, got, untimed); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.tool, test.input, diff)
		}
	}
	if diff := cmp.Diff(Verdict{}, s.AfterEdit(t.Context(), Edit{}), untimed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBuiltInRulesKnowTheHomeFolder(t *testing.T) {
	s := testSet()
	if !s.BeforeTool(t.Context(), call("/srv/x", "bash", `{"command":"rm -rf /home/somebody"}`)).Blocked {
		t.Error("HOME of the environment is not protected")
	}
	s.Home = "/home/other"
	if !s.BeforeTool(t.Context(), call("/srv/x", "bash", `{"command":"rm -rf /home/other/"}`)).Blocked {
		t.Error("Home is not protected")
	}
}

func TestCommands(t *testing.T) {
	tests := []struct {
		name, command string
		want          Answer
	}{
		{"allows", "exit 0", Answer{Decision: Allow}},
		{"allows with words", "echo fine; echo really >&2", Answer{Decision: Allow, Text: "really"}},
		{"blocks with stderr", "echo out; echo no >&2; exit 2", Answer{Decision: Block, Text: "no"}},
		{"blocks with stdout", "echo out; exit 2", Answer{Decision: Block, Text: "out"}},
		{
			"blocks without a word", "exit 2",
			Answer{Decision: Block, Text: "a hook of this project refuses this without giving a reason"},
		},
		{"warns", "echo hm >&2; exit 1", Answer{Decision: Warn, Text: "exit code 1: hm"}},
		{"is not there", "exec /nonexistent/hook", Answer{Decision: Warn, Text: "exit code 127: "}},
		{"is killed", "kill -9 $$", Answer{Decision: Warn, Text: "exit code 137"}},
		{
			"says too much", "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 2",
			Answer{Decision: Block, Text: strings.Repeat("x", 4000) + "\n[… the rest is cut …]"},
		},
		{"says what is no text", `printf 'a\377\0b' >&2; exit 2`, Answer{Decision: Block, Text: "a\uFFFD\uFFFDb"}},
		{"does not read", "exec 0<&-; exit 0", Answer{Decision: Allow}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := testSet()
			s.PostEdit.Commands = []string{test.command}
			got := s.AfterEdit(t.Context(), Edit{Where: Where{Dir: t.TempDir()}, Files: []string{strings.Repeat("f", 1<<20)}})
			if len(got.Runs) != 1 {
				t.Fatalf("runs: %+v", got.Runs)
			}
			run := got.Runs[0]
			if strings.HasSuffix(test.want.Text, ": ") { // the shell's own words follow
				run.Text = run.Text[:min(len(run.Text), len(test.want.Text))]
			}
			if diff := cmp.Diff(test.want, Answer{Decision: run.Decision, Text: run.Text}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Blocked != (test.want.Decision == Block) || (len(got.Warnings) == 1) != (test.want.Decision == Warn) {
				t.Errorf("blocked %v, warnings %q", got.Blocked, got.Warnings)
			}
		})
	}
}

func TestCommandsThatDoNotAnswer(t *testing.T) {
	s := testSet()
	s.Timeout = 200 * time.Millisecond
	s.PreIteration.Commands = []string{"echo so far >&2; sleep 1000"}
	in := func(dir string) ralph.IterationAhead { return ralph.IterationAhead{HookContext: Where{Dir: dir}} }
	got := s.BeforeIteration(t.Context(), in(t.TempDir()))
	want := []Run{
		{
			Hook: PreIteration, By: "echo so far >&2; sleep 1000", Decision: Warn,
			Text: "it did not answer within 200ms: so far",
		},
	}
	if diff := cmp.Diff(want, got, untimed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.PreIteration.Commands = []string{"exit 2"}
	if got := s.BeforeIteration(ctx, in(t.TempDir())); len(got) != 1 || got[0].Decision != Warn ||
		got[0].Text != "it was interrupted" {
		t.Errorf("with a done context: %+v", got)
	}
	if got := s.BeforeIteration(t.Context(), in("/nonexistent")); len(got) != 1 || got[0].Decision != Warn ||
		!strings.HasPrefix(got[0].Text, "it could not be started") {
		t.Errorf("without a workspace: %+v", got)
	}
}

func TestWhatCommandsRead(t *testing.T) {
	dir := t.TempDir()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	where := Where{Run: "r1", Iteration: 3, Task: "T-001", Dir: dir}
	s := testSet()
	entered := 0
	s.Marker, s.Enter = "the-marker", func(spec *process.Spec) { entered++; spec.Env = append(spec.Env, "ENTERED=yes") }
	reader := []string{`cat > got; pwd -P > where; echo "$ENTERED $` + process.MarkerVariable + `" > env`}
	s.PreTool.Commands, s.PostEdit.Commands = reader, reader
	s.PreIteration.Commands, s.PostIteration.Commands, s.OnStop.Commands = reader, reader, reader
	at := fmt.Sprintf(`"run":"r1","iteration":3,"task":"T-001","dir":%q`, dir)
	tests := []struct {
		name string
		ask  func() []Run
		want string
	}{
		{
			"pre_tool",
			func() []Run { return s.BeforeTool(t.Context(), call(dir, "bash", `{"command": "ls"}`)).Runs },
			`{"hook":"pre_tool",` + at + `,"tool":"bash","input":{"command":"ls"}}`,
		},
		{
			"pre_tool about a command that cannot be determined",
			func() []Run { return s.BeforeTool(t.Context(), call(dir, "bash", `{"command": "$X y"}`)).Runs },
			`{"hook":"pre_tool",` + at + `,"tool":"bash","input":{"command":"$X y"},` +
				`"undetermined":"the name of a command is only known when it runs: ${X}"}`,
		},
		{
			"pre_tool without JSON",
			func() []Run { return s.BeforeTool(t.Context(), call(dir, "bash", "{\"a\xff")).Runs },
			`{"hook":"pre_tool",` + at + `,"tool":"bash","input":"{\"a` + "\uFFFD" + `"}`,
		},
		{
			"pre_tool without input",
			func() []Run { return s.BeforeTool(t.Context(), call(dir, "bash", "")).Runs },
			`{"hook":"pre_tool",` + at + `,"tool":"bash","input":""}`,
		},
		{"post_edit", func() []Run {
			return s.AfterEdit(t.Context(), Edit{Where: where, Tool: "edit_file", Files: []string{"a/b.go"}}).Runs
		}, `{"hook":"post_edit",` + at + `,"tool":"edit_file","files":["a/b.go"]}`},
		{"pre_iteration", func() []Run {
			return s.BeforeIteration(t.Context(), ralph.IterationAhead{HookContext: where, Agent: "worker"})
		}, `{"hook":"pre_iteration",` + at + `,"agent":"worker"}`},
		{"post_iteration", func() []Run {
			return s.AfterIteration(t.Context(), ralph.IterationJudged{
				HookContext: where, End: ralph.EndOK, Claims: []string{"COMPLETE"}, Refusals: []string{"check_failed"},
				Action: ralph.GoOn,
			})
		}, `{"hook":"post_iteration",` + at +
			`,"end":"ok","claims":["COMPLETE"],"refusals":["check_failed"],"action":"go_on"}`},
		{"on_stop", func() []Run {
			return s.AtStop(t.Context(), ralph.RunEnd{
				HookContext: where, Status: ralph.StatusBlocked, Reason: ralph.Blocked, ExitCode: 2, Summary: "no key",
			})
		}, `{"hook":"on_stop",` + at + `,"status":"blocked","stop_reason":"blocked","exit_code":2,"summary":"no key"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.ask(); got[len(got)-1].Decision != Allow {
				t.Fatalf("%+v", got)
			}
			seen := map[string]string{}
			for _, name := range []string{"got", "where", "env"} {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				seen[name] = string(text)
			}
			want := map[string]string{"got": test.want + "\n", "where": real + "\n", "env": "yes the-marker\n"}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !json.Valid([]byte(seen["got"])) {
				t.Error("not JSON")
			}
		})
	}
	if entered != len(tests) {
		t.Errorf("entered %d times", entered)
	}
}

func TestOrder(t *testing.T) {
	dir := t.TempDir()
	s := testSet()
	var asked []string
	function := func(name string, a Answer) func(context.Context, ToolCall) Answer {
		return func(_ context.Context, call ToolCall) Answer {
			asked = append(asked, name+" "+call.Tool)
			return a
		}
	}
	s.PreTool = Hooks[ToolCall]{
		Functions: []func(context.Context, ToolCall) Answer{
			function("one", Answer{}),
			function("two", Answer{Decision: Warn, Text: "careful"}),
		},
		Commands: []string{"echo hm; exit 1", "echo no; exit 2", "touch never"},
	}
	want := Verdict{
		Blocked: true, Text: "no",
		Warnings: []string{"pre_tool function 2: careful", "pre_tool echo hm; exit 1: exit code 1: hm"},
		Runs: []Run{
			{Hook: PreTool, By: "built-in", Decision: Allow}, {Hook: PreTool, By: "function 1", Decision: Allow},
			{Hook: PreTool, By: "function 2", Decision: Warn, Text: "careful"},
			{Hook: PreTool, By: "echo hm; exit 1", Decision: Warn, Text: "exit code 1: hm"},
			{Hook: PreTool, By: "echo no; exit 2", Decision: Block, Text: "no"},
		},
	}
	if diff := cmp.Diff(want, s.BeforeTool(t.Context(), call(dir, "grep", `{}`)), untimed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one grep", "two grep"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "never")); !os.IsNotExist(err) {
		t.Error("a hook was asked after another had blocked")
	}
	asked = nil
	if got := s.BeforeTool(t.Context(), call(dir, "bash", `{"command":"sudo x"}`)); !got.Blocked || len(got.Runs) != 1 ||
		asked != nil {
		t.Errorf("after the built-in rules blocked: %+v, asked %q", got, asked)
	}
	s.PreTool.Functions[0] = function("one", Answer{Decision: Block, Text: "never"})
	if got := s.BeforeTool(t.Context(), call(dir, "bash", `{}`)); got.Text != "never" || len(got.Runs) != 2 {
		t.Errorf("after a function blocked: %+v", got)
	}
}

func TestNothingIsLeftInTheFolderForTemporaryFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := testSet()
	s.OnStop.Commands = []string{"true", "sleep 1000 & exit 2"}
	if got := s.AtStop(t.Context(), ralph.RunEnd{HookContext: Where{Dir: t.TempDir()}}); len(got) != 2 ||
		got[1].Decision != Block {
		t.Errorf("%+v", got)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
