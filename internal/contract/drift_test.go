package contract

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

const root = "../.."

func readPage(t *testing.T) Page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "contract.md"))
	if err != nil {
		t.Fatal(err)
	}
	return Parse(string(text))
}

// The page describes 70 in words; a result still needs a stop reason.
const internalReason = "internal"

func TestExitCodes(t *testing.T) {
	want, err := readPage(t).Exits()
	if err != nil {
		t.Fatal(err)
	}
	for i, exit := range want {
		if exit.Code == 70 {
			want[i].Reasons = []string{internalReason}
		}
	}
	var got []Exit
	for _, kind := range ralph.Outcomes() {
		exit := Exit{Code: kind.Code, Name: kind.Name, Status: string(kind.Status)}
		for _, reason := range kind.Reasons {
			exit.Reasons = append(exit.Reasons, string(reason))
		}
		got = append(got, exit)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exit codes (-page +code):\n%s", diff)
	}
}

func TestEveryStopReasonHasACode(t *testing.T) {
	exits, err := readPage(t).Exits()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{internalReason}
	for _, exit := range exits {
		want = append(want, exit.Reasons...)
	}
	if diff := cmp.Diff(sorted(want), sorted(constants(t, "StopReason"))); diff != "" {
		t.Errorf("stop reasons (-page +code):\n%s", diff)
	}
}

func TestStates(t *testing.T) {
	page := readPage(t)
	exits, err := page.Exits()
	if err != nil {
		t.Fatal(err)
	}
	want := page.LiveStates()
	for _, exit := range exits {
		if exit.Status != "" {
			want = append(want, exit.Status)
		}
	}
	if diff := cmp.Diff(sorted(want), sorted(constants(t, "Status"))); diff != "" {
		t.Errorf("states of a run (-page +code):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	var got []Gate
	for _, kind := range judge.GateKinds() {
		got = append(got, Gate{kind.Name, kind.Refusals})
	}
	if diff := cmp.Diff(readPage(t).Gates(), got); diff != "" {
		t.Errorf("gates (-page +code):\n%s", diff)
	}
}

func TestEventTypes(t *testing.T) {
	if diff := cmp.Diff(readPage(t).EventTypes(), constants(t, "EventType")); diff != "" {
		t.Errorf("event types (-page +code):\n%s", diff)
	}
}

func TestEventFields(t *testing.T) {
	var got []string
	for field := range reflect.TypeFor[ralph.Event]().Fields() {
		got = append(got, jsonName(field))
	}
	if diff := cmp.Diff(readPage(t).EventFields(), got); diff != "" {
		t.Errorf("fields of an event (-page +code):\n%s", diff)
	}
}

// beyondTheResult names the fields that a result has in addition to the page's example, which shows
// a run that is not a demo and had no problems.
var beyondTheResult = []string{
	"goal_files",
	"answer",                             // in profile goal, or if a check reads it
	"sandbox",                            // where Ralph starts the agent
	"demo",                               // the demo says so everywhere
	"hint",                               // what the user can do about this end
	"cost_partial",                       // only part of the cost is known
	"tokens_partial",                     //
	"iterations.cost_partial",            //
	"iterations.denials",                 // what the agent was not allowed to do
	"iterations.allow",                   // and what would have allowed it
	"iterations.counted",                 // an interrupted iteration keeps its number but does not count toward the limit
	"iterations.error_class",             // for an agent that failed
	"iterations.evidence",                // what the agent's own verifiers showed; section 5 has its fields
	"iterations.check_results.broken",    // cannot run, as opposed to: fails
	"iterations.check_results.timed_out", //
	"iterations.check_results.truncated", // its output on disk was cut
	"iterations.check_results.task",      // the task that it belongs to, in a run through a task list
	"iterations.check_results.survivors", // processes that it left behind and that Ralph killed

	"receipt", // the end of the log's chain; the page describes it and these below the example
	"iterations.check_results.attempts",
	"iterations.check_results.attribution",
	"iterations.check_results.command", // if it is not the name: with the test files of tasks
	"iterations.check_results.failing_tests",
	"iterations.check_results.flaked",
	"iterations.check_results.hidden",
	"iterations.check_results.hints",
	"iterations.check_results.isolation",
	"iterations.check_results.not_in_tree",
	"iterations.check_results.output_sha256",
	"iterations.check_results.reused",
	"iterations.check_results.proof",
	"iterations.check_results.proof.base_passed",
	"iterations.check_results.proof.canary",
	"iterations.check_results.proof.environment",
	"iterations.check_results.proof.flaky",
	"iterations.check_results.proof.needs",
	"iterations.check_results.proof.quick",
	"iterations.check_results.proof.table",
	"iterations.check_results.proof.table.column",
	"iterations.check_results.proof.table.exit",
	"iterations.check_results.proof.table.failed",
	"iterations.check_results.proof.table.fired",
	"iterations.check_results.proof.table.passed",
	"iterations.check_results.proof.table.planted",
	"iterations.check_results.proof.table.repeats",
	"iterations.check_results.proof.table.reused",
	"iterations.check_results.proof.table.skipped",
	"iterations.check_results.proof.table.tests",
	"iterations.check_results.proof.detail",
	"iterations.check_results.proof.lost",
	"iterations.check_results.proof.missing",
	"iterations.check_results.proof.name",
	"iterations.check_results.proof.task",
	"iterations.check_results.proof.tests",
	"iterations.check_results.killed",
	"iterations.check_results.tests",
	"iterations.check_results.tests.failed",
	"iterations.check_results.tests.passed",
	"iterations.check_results.tests.skipped",
	"iterations.check_results.tests.sum",
	"iterations.check_results.tests.total",
	"iterations.check_results.tests.unstable",
	"iterations.check_results.tree",
	"iterations.check_results.weaker", // it needs more access than a view gives
}

func TestResultFields(t *testing.T) {
	var example any
	if err := json.Unmarshal([]byte(readPage(t).Block(`"run_id"`)), &example); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	exampleFields(example, "", want)
	got := map[string]bool{}
	typeFields(reflect.TypeFor[ralph.Result](), "", got)
	for _, name := range beyondTheResult {
		if !got[name] || want[name] {
			t.Errorf("%s is no field beyond the page's: take it off the list", name)
		}
		delete(got, name)
	}
	// The block in the example is null, and there is no evidence; sections 4 and 5 have their fields.
	maps.DeleteFunc(got, func(name string, _ bool) bool {
		return strings.HasPrefix(name, "iterations.status_block.") || strings.HasPrefix(name, "iterations.evidence.")
	})
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("fields of a result (-page +code):\n%s", diff)
	}
}

// exampleFields collects the names of a JSON value's fields, with their paths.
func exampleFields(value any, place string, names map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			names[place+name] = true
			exampleFields(inner, place+name+".", names)
		}
	case []any:
		for _, inner := range value {
			exampleFields(inner, place, names)
		}
	}
}

// typeFields collects the JSON names of a Go type's fields, with their paths.
func typeFields(kind reflect.Type, place string, names map[string]bool) {
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	if kind.Kind() != reflect.Struct || kind == reflect.TypeFor[time.Time]() {
		return
	}
	for field := range kind.Fields() {
		names[place+jsonName(field)] = true
		typeFields(field.Type, place+jsonName(field)+".", names)
	}
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// constants lists the values of the root package's string constants of one type, in source order.
func constants(t *testing.T, typeName string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == typeName {
				values = append(values, literals(t, spec)...)
			}
			return true
		})
	}
	return values
}

func literals(t *testing.T, spec *ast.ValueSpec) []string {
	t.Helper()
	var values []string
	for _, value := range spec.Values {
		literal, ok := value.(*ast.BasicLit)
		if !ok {
			continue
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, text)
	}
	return values
}
