package stream

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMend(t *testing.T) {
	const cutInString = `{"type":"a","message":{"content":[{"name":"Write","input":{"path":"a","text":"xxx`
	for head, want := range map[string]string{
		cutInString:                             `{"type":"a","message":{"content":[{"name":"Write","input":{"path":"a"}}]}}`,
		`{"a":"quote \" and } and \\","b":[1,2`: `{"a":"quote \" and } and \\","b":[1]}`,
		`{"a":[{"b":{}},{"c`:                    `{"a":[{"b":{}},{}]}`,
		`{"a":1}`:                               `{"a":1}`,
		`{`:                                     `{}`,
		``:                                      ``,
		`{"a":]`:                                ``,
		`no JSON, but {`:                        `no JSON, but {}`,
	} {
		if got := string(Mend([]byte(head))); got != want {
			t.Errorf("%s: got %s, want %s", head, got, want)
		}
	}
}

func TestMendOfADeepLineIsQuick(t *testing.T) {
	deep := []byte(strings.Repeat("[", 1<<20) + strings.Repeat(",", 1<<20))
	// copying what is open at each comma would take hours
	if got := Mend(deep); !bytes.HasSuffix(got, []byte(strings.Repeat("]", 1<<20))) {
		t.Errorf("%d bytes, and not everything is closed", len(got))
	}
}

func TestRepair(t *testing.T) {
	for text, want := range map[string]string{
		"{\"error\":\"a\tb\"}":   `{"error":"a b"}`,
		`{"is_error":true},`:     `{"is_error":true}`,
		"\ufeff{\"type\":\"x\"}": `{"type":"x"}`,
	} {
		if got := string(Repair([]byte(text))); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestMendOfEveryBeginning: wherever it is cut off, the rest is JSON and says nothing that the
// whole does not.
func TestMendOfEveryBeginning(t *testing.T) {
	const text = `{"a":[1,{"b":"c\"d"},[]],"e":{"f":null,"g":[{},true]} , "h":-2.5e3}`
	for n := 1; n < len(text); n++ {
		if mended := Mend([]byte(text[:n])); !json.Valid(mended) {
			t.Errorf("%s becomes %s", text[:n], mended)
		}
	}
}

func TestDecodeLeavesOutWhatIsOfAnotherType(t *testing.T) {
	type event struct {
		Type  string
		Inner struct{ Text string }
		List  []struct{ Name string }
		Count int
		Last  bool
	}
	var got event
	if !Decode([]byte(`{"type":["a"],"inner":"x","list":{"b":1},"count":"3","last":true,"new":{"c":[2]}}`), &got) {
		t.Error("it is JSON")
	}
	if diff := cmp.Diff(event{Last: true}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, text := range []string{``, `{`, `{"type":"a"`, `{"type":"a"}}`, `}{`} {
		if Decode([]byte(text), &got) {
			t.Errorf("%q is taken for JSON", text)
		}
	}
}

func FuzzMend(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,"b\\\"",{"c":null}]}`, `[`, `{"a"`, `{"a":}`, `{,}`, `"\ud83d`, `}`, `{"a":"b" "c":1}`, "[\x00",
		strings.Repeat("[", 99),
	} {
		f.Add([]byte(seed), len(seed)/2)
	}
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		head := text[:min(max(n, 0), len(text))]
		mended := Mend(head)
		if len(mended) > 2*len(head) {
			t.Fatalf("%q became %q", head, mended)
		}
		isObject := strings.HasPrefix(string(head), "{")
		if json.Valid(text) && isObject && !json.Valid(mended) {
			t.Fatalf("%q became %q", head, mended)
		}
	})
}
