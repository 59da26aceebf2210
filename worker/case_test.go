package worker

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/tools"
)

func TestDecodeCase(t *testing.T) {
	with := func(addressedBy string) string {
		return fmt.Sprintf(`{"summary":"s","ac_coverage":[{"criterion":"c","addressed_by":%q}]}`, addressedBy)
	}
	list := func(n int) string { return `["` + strings.Join(make([]string, n), `x","`) + `x"]` }
	for _, c := range []struct{ name, input, problem string }{
		{
			"whole",
			`{"summary":"s","ac_coverage":[{"criterion":"c","addressed_by":"a.go:B","evidence":"a_test.go"}],` +
				`"work_arounds":["w"],"uncertainties":["u"]}`,
			"",
		},
		{"least", goodCase, ""},
		{"no summary", `{"ac_coverage":[]}`, "field summary is missing"},
		{"blank summary", `{"summary":" ","ac_coverage":[]}`, "field summary is empty"},
		{
			"long summary", `{"summary":"` + strings.Repeat("x", 4001) + `","ac_coverage":[]}`,
			"field summary has 4001 characters, more than 4000",
		},
		{"no coverage", `{"summary":"s"}`, "field ac_coverage is missing"},
		{
			"empty coverage", `{"summary":"s","ac_coverage":[]}`,
			"field ac_coverage is empty; name each criterion and where it is met",
		},
		{
			"blank criterion", `{"summary":"s","ac_coverage":[{"criterion":"","addressed_by":"a"}]}`,
			"field ac_coverage[0].criterion is empty",
		},
		{
			"blank pointer", `{"summary":"s","ac_coverage":[{"criterion":"c","addressed_by":""}]}`,
			"field ac_coverage[0].addressed_by is empty",
		},
		{
			"extra key", `{"summary":"s","ac_coverage":[],"done":true}`,
			"field done is unknown; the fields are summary, ac_coverage, work_arounds, uncertainties, untestable",
		},
		{
			"extra key inside", `{"summary":"s","ac_coverage":[{"criterion":"c","addressed_by":"a","by":"me"}]}`,
			"field ac_coverage[0].by is unknown; the fields are criterion, addressed_by, evidence",
		},
		{"another type", `{"summary":"s","ac_coverage":"all of it"}`, "field ac_coverage must be an array, not a string"},
		{"five workarounds", strings.Replace(goodCase, `"it adds"`, `"it adds","work_arounds":`+list(5), 1), ""},
		{
			"six workarounds", strings.Replace(goodCase, `"it adds"`, `"it adds","work_arounds":`+list(6), 1),
			"field work_arounds has 6 entries, more than 5",
		},
		{
			"a blank doubt", strings.Replace(goodCase, `"it adds"`, `"it adds","uncertainties":[""]`, 1),
			"field uncertainties[0] is empty",
		},
		{"untestable left empty", strings.Replace(goodCase, `"it adds"`, `"it adds","untestable":""`, 1), ""},
		{
			"a blank untestable", strings.Replace(goodCase, `"it adds"`, `"it adds","untestable":" "`, 1),
			"field untestable is empty",
		},
		{
			"one problem at a time", `{"summary":"","ac_coverage":[],"done":true}`,
			"field done is unknown; the fields are summary, ac_coverage, work_arounds, uncertainties, untestable",
		},
		{
			"prose", with("I changed the function so that it adds both numbers"),
			"field ac_coverage[0].addressed_by is prose; it must be a pointer such as path/to/file.go:Symbol",
		},
		{
			"prose with a number", with("it is now about 1.5 times as fast, e.g. for sums"),
			"field ac_coverage[0].addressed_by is prose; it must be a pointer such as path/to/file.go:Symbol",
		},
		{"few words", with("the function Add itself"), ""},
		{"prose with a file", with("I changed the function Add in (calc.go) so that it adds"), ""},
		{"prose with a path", with("the new folder `internal/calc` has all that is asked for"), ""},
		{"prose with a symbol", with("the one that is called Calc::add does what is asked"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tools.DecodeCase(json.RawMessage(c.input))
			got := ""
			if err != nil {
				got = err.Error()
			}
			same(t, "problem", c.problem, got)
		})
	}
}

func TestACaseIsSubmittedAsItIs(t *testing.T) {
	input := `{"summary":"s","ac_coverage":[{"criterion":"c","addressed_by":"a.go:B","evidence":"a_test.go"}],` +
		`"work_arounds":["w"],"uncertainties":["u"],"untestable":"it is a poem"}`
	j := &judge{}
	works(t, Options{Client: &fakeModel{steps: []step{calls(submitCase, input)}}}, j.input(t))
	same(t, "cases", []ralph.Case{{
		Summary: "s", Coverage: []ralph.Coverage{{Criterion: "c", AddressedBy: "a.go:B", Evidence: "a_test.go"}},
		WorkArounds: []string{"w"}, Uncertainties: []string{"u"}, Untestable: "it is a poem",
	}}, j.cases)
}

// FuzzDecodeCase: an accepted case has text in every required field, and survives being written and
// read again.
func FuzzDecodeCase(f *testing.F) {
	for _, seed := range []string{
		goodCase, `{}`, `null`, `[`, `{"summary":"s","ac_coverage":[{"criterion":"c","addressed_by":"a b c d e f g h"}]}`,
		`{"summary":"\ud800","ac_coverage":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		made, err := tools.DecodeCase(input)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("a problem without words")
			}
			return
		}
		if strings.TrimSpace(made.Summary) == "" || len(made.Coverage) == 0 || len(made.WorkArounds) > 5 {
			t.Fatalf("taken: %+v", made)
		}
		text, err := json.Marshal(made)
		if err != nil {
			t.Fatal(err)
		}
		again, err := tools.DecodeCase(text)
		if err != nil {
			t.Fatalf("not taken again: %v", err)
		}
		same(t, "again", made.String(), again.String())
	})
}
