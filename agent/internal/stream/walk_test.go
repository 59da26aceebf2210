package stream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// build walks over a whole value and builds what encoding/json would.
func build(w *Walker) any {
	switch w.Peek() {
	case '{':
		object := map[string]any{}
		for key := range w.Fields() {
			name := string(Unescape(nil, key))
			object[name] = build(w)
		}
		return object
	case '[':
		list := []any{}
		for range w.Elements() {
			list = append(list, build(w))
		}
		return list
	case '"':
		return w.Word()
	}
	switch raw := string(w.Raw()); raw {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	default:
		inner := Walker{Text: []byte(raw)}
		n, ok := inner.Number()
		if !ok {
			w.Bad = true
		}
		return n
	}
}

func TestWalkerReadsWhatTheStandardLibraryReads(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `""`, `0`, `null`, ` { "a" : [ 1 , -2.5e3 , true , false , null , {} , [ ] ] , "b" : "c" } `,
		`{"a":"\"\\\/\b\f\n\r\t","\u0041":"\u00e9\ud83d\ude00\ud83d","x":"\\"}`,
		`{"deep":[[[[{"a":{"b":[{"c":"}]\""}]}}]]]]}`, "{\"tab\":\t1,\r\n\"n\":2}",
	} {
		var want any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		w := Walker{Text: []byte(text)}
		got := build(&w)
		if diff := cmp.Diff(want, got); diff != "" || w.Bad {
			t.Errorf("%s: bad %v, -want +got:\n%s", text, w.Bad, diff)
		}
	}
}

func TestWalkerKnowsWhatIsCutOff(t *testing.T) {
	text := `{"a":[1,{"b":"c\"d"}],"e":{"f":null}}`
	for n := range text {
		w := Walker{Text: []byte(text[:n])}
		if w.Skip(); !w.Bad {
			t.Errorf("skip takes %q for whole", text[:n])
		}
		w = Walker{Text: []byte(text[:n])}
		if build(&w); !w.Bad {
			t.Errorf("walk takes %q for whole", text[:n])
		}
	}
}

func TestWalkerSkipsWhatIsNotTaken(t *testing.T) {
	w := Walker{Text: []byte(`{"long":{"x":["y",{"z":"\\\""}]},"list":["a",["b"],{"c":1}],"wanted":"here","after":[1,2]}`)}
	var keys []string
	wanted, elements := "", 0
	for key := range w.Fields() {
		keys = append(keys, string(key))
		switch string(key) {
		case "wanted":
			wanted = w.Word()
		case "list":
			for range w.Elements() {
				elements++
			}
		}
	}
	got := fmt.Sprintf("%v %s %d %v", keys, wanted, elements, w.Bad)
	if want := "[long list wanted after] here 3 false"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWalkerToleratesOtherTypes(t *testing.T) {
	w := Walker{Text: []byte(`{"object":["a"],"list":{"b":1},"text":{"c":[2]},"number":"3","truth":"yes","last":true}`)}
	entered, last := 0, false
	for key := range w.Fields() {
		switch string(key) {
		case "object":
			for range w.Fields() {
				entered++
			}
		case "list":
			for range w.Elements() {
				entered++
			}
		case "text":
			if s := w.Word(); s != "" {
				t.Errorf("text %q", s)
			}
		case "number":
			if n, ok := w.Number(); ok {
				t.Errorf("number %v", n)
			}
		case "truth":
			if w.Truth() {
				t.Error("yes is true")
			}
		case "last":
			last = w.Truth()
		}
	}
	if entered != 0 || !last || w.Bad {
		t.Errorf("entered %d, last %v, bad %v", entered, last, w.Bad)
	}
}

func TestUnescapeKeepsWhatMakesNoSense(t *testing.T) {
	for in, want := range map[string]string{
		`plain`: "plain", `\q\`: `\q\`, `\u12`: "\ufffd12", `\uzzzz!`: "\ufffdzzzz!", `\ud83dx`: "\ufffdx", `\ud83d\u0041`: "\ufffdA", "a\x00\xff": "a\x00\xff",
	} {
		if got := string(Unescape(nil, []byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzWalker(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"b\\\"",{"c":null}]}`, `[`, `{"a"`, `{"a":}`, `{,}`, `[1 2]`, `"\ud83d`, `}`, `{"a":"b" "c":1}`, "[\x00", "{\x00\"a\":\x00}", strings.Repeat("[", 99)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		skipped := Walker{Text: text}
		skipped.Skip()
		built := Walker{Text: text}
		got := build(&built)
		idle := Walker{Text: text}
		for range idle.Fields() {
		}
		idle = Walker{Text: text}
		for range idle.Elements() {
		}
		if max(skipped.At, built.At, idle.At) > len(text) {
			t.Fatal("walked over the end")
		}
		if !json.Valid(text) || !plainJSON(text) {
			return
		}
		var want any
		if err := json.Unmarshal(text, &want); err != nil {
			return // a number out of range
		}
		if skipped.Bad || built.Bad {
			t.Fatalf("%q is valid: skip bad %v, walk bad %v", text, skipped.Bad, built.Bad)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: -want +got:\n%s", text, diff)
		}
	})
}

// plainJSON leaves out what encoding/json mends and we pass on: invalid UTF-8.
func plainJSON(text []byte) bool { return strings.ToValidUTF8(string(text), "") == string(text) }
