package tools

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

type sample struct {
	Path    string          `json:"path" doc:"Where."`
	Lines   int             `json:"lines,omitempty"`
	Share   float64         `json:"share,omitempty"`
	Deep    bool            `json:"deep,omitempty"`
	Verdict string          `json:"verdict,omitempty" enum:"accept,reject"`
	Parts   []part          `json:"parts,omitempty" doc:"What it is made of."`
	Words   []string        `json:"words,omitempty"`
	Maybe   *int            `json:"maybe,omitempty"`
	Any     json.RawMessage `json:"any,omitempty"`
	Unnamed int
}

type part struct {
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
}

func TestDecode(t *testing.T) {
	seven := 7
	tests := []struct {
		name, input string
		want        sample
		problem     string
	}{
		{name: "least", input: `{"path":"a"}`, want: sample{Path: "a"}},
		{
			name: "all",
			input: ` {"path":"ä\n","lines":-3,"share":0.5,"deep":true,"verdict":"reject","parts":[{"name":"x"},` +
				`{"name":"y","note":"z"}],"words":["a",""],"maybe":7,"any":{"k": [1]}} `,
			want: sample{
				Path: "ä\n", Lines: -3, Share: 0.5, Deep: true, Verdict: "reject",
				Parts: []part{{Name: "x"}, {Name: "y", Note: "z"}}, Words: []string{"a", ""}, Maybe: &seven,
				Any: json.RawMessage(`{"k": [1]}`),
			},
		},
		{name: "optional null", input: `{"path":"a","lines":null,"parts":null,"maybe":null}`, want: sample{Path: "a"}},
		{name: "optional choice that is not made", input: `{"path":"a","verdict":""}`, want: sample{Path: "a"}},
		{name: "whole number with a point", input: `{"path":"a","lines":2.0}`, want: sample{Path: "a", Lines: 2}},
		{name: "whole number with an exponent", input: `{"path":"a","lines":1e2}`, want: sample{Path: "a", Lines: 100}},

		{name: "nothing", input: ``, problem: "the input is empty; it must be a JSON object"},
		{name: "blank", input: " \n", problem: "the input is empty; it must be a JSON object"},
		{name: "null", input: `null`, problem: "the input must be an object, not null"},
		{name: "array", input: `[]`, problem: "the input must be an object, not an array"},
		{name: "string", input: `"x"`, problem: "the input must be an object, not a string"},
		{name: "number", input: `7`, problem: "the input must be an object, not a number"},
		{
			name: "no JSON", input: `path: a`,
			problem: "the input is not valid JSON: invalid character 'p' looking for beginning of value, at byte 1 of 7",
		},
		{
			name: "cut", input: `{"path":"a`,
			problem: "the input is not valid JSON: unexpected end of JSON input, at byte 10 of 10",
		},
		{
			name: "two", input: `{"path":"a"}{}`,
			problem: "the input is not valid JSON: invalid character '{' after top-level value, at byte 13 of 14",
		},
		{
			name: "unknown", input: `{"path":"a","file":"b"}`,
			problem: "field file is unknown; the fields are path, lines, share, deep, verdict, parts, words, maybe, any",
		},
		{
			name: "other case", input: `{"Path":"a"}`,
			problem: "field Path is unknown; the fields are path, lines, share, deep, verdict, parts, words, maybe, any",
		},
		{
			name: "without a tag", input: `{"path":"a","Unnamed":1}`,
			problem: "field Unnamed is unknown; the fields are path, lines, share, deep, verdict, parts, words, maybe, any",
		},
		{name: "twice", input: `{"path":"a","path":"b"}`, problem: "field path appears twice"},
		{name: "missing", input: `{}`, problem: "field path is missing"},
		{name: "required null", input: `{"path":null}`, problem: "field path must be a string, not null"},
		{name: "number for string", input: `{"path":1}`, problem: "field path must be a string, not a number"},
		{name: "string for number", input: `{"path":"a","lines":"3"}`, problem: "field lines must be a number, not a string"},
		{
			name: "string for bool", input: `{"path":"a","deep":"true"}`,
			problem: "field deep must be true or false, not a string",
		},
		{name: "object for array", input: `{"path":"a","parts":{}}`, problem: "field parts must be an array, not an object"},
		{name: "half a line", input: `{"path":"a","lines":1.5}`, problem: "field lines must be a whole number"},
		{name: "too large", input: `{"path":"a","lines":1e300}`, problem: "field lines is out of range"},
		{name: "far too large", input: `{"path":"a","share":1e999}`, problem: "field share is out of range"},
		{name: "in a list", input: `{"path":"a","words":["x",2]}`, problem: "field words[1] must be a string, not a number"},
		{name: "null in a list", input: `{"path":"a","words":[null]}`, problem: "field words[0] must be a string, not null"},
		{
			name: "in an object in a list", input: `{"path":"a","parts":[{"name":"x"},{"name":true}]}`,
			problem: "field parts[1].name must be a string, not true or false",
		},
		{
			name: "unknown in an object in a list", input: `{"path":"a","parts":[{"name":"x","no":1}]}`,
			problem: "field parts[0].no is unknown; the fields are name, note",
		},
		{
			name: "missing in an object in a list", input: `{"path":"a","parts":[{}]}`,
			problem: "field parts[0].name is missing",
		},
		{
			name: "not one of", input: `{"path":"a","verdict":"maybe"}`,
			problem: `field verdict must be one of accept, reject, not "maybe"`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got sample
			err := Decode(json.RawMessage(test.input), &got)
			problem := ""
			if err != nil {
				problem, got = err.Error(), sample{}
			}
			if diff := cmp.Diff(test.problem, problem); diff != "" {
				t.Errorf("problem (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeIsShortAboutLongThings(t *testing.T) {
	long := strings.Repeat("é", 1<<19)
	for _, input := range []string{
		`{"` + long + `":1}`, `{"path":"a","verdict":"` + long + `"}`, `"` + long + `"`, `{"path":"` + long,
		strings.Repeat("[", 1<<20),
	} {
		err := Decode(json.RawMessage(input), new(sample))
		if err == nil || len(err.Error()) > 500 {
			t.Errorf("%.20q: %.600v", input, err)
		}
	}
}

func TestDecodeIntoNothing(t *testing.T) {
	if err := Decode(json.RawMessage(`{}`), sample{}); err == nil {
		t.Error("no error for something that cannot be filled")
	}
}

func TestSchema(t *testing.T) {
	want := `{"type":"object","properties":{"path":{"type":"string","description":"Where."},` +
		`"lines":{"type":"integer"},"share":{"type":"number"},"deep":{"type":"boolean"},` +
		`"verdict":{"type":"string","enum":["accept","reject"]},"parts":{"type":"array","description":"What it is made ` +
		`of.","items":{"type":"object","properties":{"name":{"type":"string"},"note":{"type":"string"}},` +
		`"required":["name"],"additionalProperties":false}},"words":{"type":"array","items":{"type":"string"}},` +
		`"maybe":{"type":"integer"},"any":{}},"required":["path"],"additionalProperties":false}`
	if diff := cmp.Diff(want, string(Schema(sample{}))); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"path":"a"}`, `{"path":"a","parts":[{"name":"x"}],"lines":3}`, `null`, `[1]`, `{"path":"a","any":{"a":[null]}}`,
		`{"path":"\ud800","maybe":1}`, `{"path":"a","share":1e3}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		var got, lax sample
		if err := Decode(input, &got); err != nil {
			if text := err.Error(); text == "" || strings.Contains(text, "read input") || len(text) > 1000 {
				t.Fatalf("not a sentence for a model: %q", text)
			}
			return
		}
		// Accepted input must mean the same as in encoding/json.
		if err := json.Unmarshal(input, &lax); err != nil {
			t.Fatalf("accepted, but encoding/json says %v", err)
		}
		if string(lax.Any) == "null" && got.Any == nil {
			lax.Any = nil
		}
		if diff := cmp.Diff(lax, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Fatalf("read otherwise than by encoding/json (-theirs +ours):\n%s", diff)
		}
		if !utf8.ValidString(got.Path) {
			t.Fatalf("path %q is not UTF-8", got.Path)
		}
	})
}
