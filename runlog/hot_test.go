package runlog

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

var hotPayloads = map[ralph.EventType]any{
	ralph.EvIterationStarted: ralph.IterationStarted{},
	ralph.EvAgentOutput:      ralph.AgentOutput{},
	ralph.EvAgentExited:      ralph.AgentOutcome{},
	ralph.EvTreeSnapshot:     ralph.TreeState{},
	ralph.EvCheckFinished:    ralph.CheckResult{},
	ralph.EvVerdict:          ralph.VerdictReached{},
}

func asJSON(tb testing.TB, v any) []byte {
	tb.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		tb.Fatal(err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// Every field of every hot payload is set to something, so that a field which hot.go does not know is found here and not as a slow resume.
func TestHotPayloadsAreKnownInEveryField(t *testing.T) {
	random, rounds := rand.New(rand.NewPCG(3, 4)), 300
	if testing.Short() {
		rounds = 60
	}
	for kind, payload := range hotPayloads {
		for range rounds {
			value := reflect.New(reflect.TypeOf(payload)).Elem()
			fill(random, value)
			text := asJSON(t, value.Interface())
			want, err := ralph.DecodePayload(kind, text)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := decodeHot(kind, text)
			if !ok {
				t.Fatalf("%s is decoded the slow way: does hot.go know every field? %s", kind, text)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s: %s", kind, diff)
			}
		}
	}
}

func TestHotPayloadsWithoutOptionalFields(t *testing.T) {
	for kind, payload := range hotPayloads {
		got, ok := decodeHot(kind, asJSON(t, payload))
		if diff := cmp.Diff(payload, got); diff != "" || !ok {
			t.Errorf("%s (fast: %t): %s", kind, ok, diff)
		}
	}
}

func fill(random *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(random, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(random, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+random.IntN(3), 4))
		for i := range v.Len() {
			fill(random, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, name := range []string{"Bash", "Edit", "mcp__a-b.c"}[:1+random.IntN(3)] {
			v.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(random.IntN(100)))
		}
	case reflect.String:
		v.SetString("s" + randomText(random))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(random.NormFloat64() * 1000)
	case reflect.Int:
		v.SetInt(1 + random.Int64N(1<<31-1))
	case reflect.Int64:
		v.SetInt(1e6 + random.Int64N(1<<55))
	default:
		panic("a kind of field that no payload had: " + v.Kind().String())
	}
}

func TestOddPayloadsAreLeftToTheSlowWay(t *testing.T) {
	tests := []struct{ name, text string }{
		{"a new field", `{"known":true,"dirty":0,"new":1}`},
		{"blanks", `{"known": true,"dirty":0}`},
		{"null", `{"known":true,"head":null,"dirty":0}`},
		{"a fraction", `{"known":true,"dirty":1.5}`},
		{"a large number", `{"known":true,"dirty":12345678901}`},
		{"a huge number", `{"known":true,"dirty":12345678901234567890}`},
		{"a leading zero", `{"known":true,"dirty":01}`},
		{"an empty key", `{"":true}`},
		{"an escaped key", `{"kno\u0077n":true,"dirty":0}`},
		{"surrogates", `{"known":true,"head":"\ud83d\ude42","dirty":0}`},
		{"a bad escape", `{"known":true,"head":"\x","dirty":0}`},
		{"a cut escape", `{"known":true,"head":"\u00","dirty":0}`},
		{"a control character", "{\"known\":true,\"head\":\"\x01\",\"dirty\":0}"},
		{"bad UTF-8", "{\"known\":true,\"head\":\"\xff\",\"dirty\":0}"},
		{"bad UTF-8 behind an escape", "{\"known\":true,\"head\":\"\\n\xff\",\"dirty\":0}"},
		{"no end", `{"known":true,"dirty":0`},
		{"an open text", `{"known":true,"head":"x`},
		{"an open escape", `{"known":true,"head":"x\`},
		{"something behind", `{"known":true,"dirty":0}}`},
		{"no comma", `{"known":true"dirty":0}`},
		{"a list", `[]`},
		{"a word", `{"known":yes}`},
		{"nothing", ``},
	}
	for _, test := range tests {
		if got, ok := decodeHot(ralph.EvTreeSnapshot, []byte(test.text)); ok {
			t.Errorf("%s: was read as %+v", test.name, got)
		}
	}
	if got, ok := decodeHot(ralph.EvNotice, []byte(`{}`)); ok {
		t.Errorf("a notice was read as %+v", got)
	}
}

// FuzzDecodeHot holds the promise of decodeHot for everything that the encoder can have written: the same value, or none.
func FuzzDecodeHot(f *testing.F) {
	random := rand.New(rand.NewPCG(5, 6))
	for kind, payload := range hotPayloads {
		value := reflect.New(reflect.TypeOf(payload)).Elem()
		f.Add(string(kind), asJSON(f, payload))
		fill(random, value)
		f.Add(string(kind), asJSON(f, value.Interface()))
	}
	f.Fuzz(func(t *testing.T, kind string, text []byte) {
		got, ok := decodeHot(ralph.EventType(kind), text)
		want, err := ralph.DecodePayload(ralph.EventType(kind), text)
		if !ok || err != nil || !bytes.Equal(asJSON(t, want), text) {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
