package shell

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type member struct{ Name, Value string }

// decoded is members by the decoder of the standard library.
func decoded(object []byte) (all []member) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	_, _ = decoder.Token()
	for decoder.More() {
		name, _ := decoder.Token()
		var value json.RawMessage
		_ = decoder.Decode(&value)
		all = append(all, member{name.(string), string(value)})
	}
	return all
}

var objects = []string{
	`{}`, ` { } `, `{"a":1}`, "{\n\t\"a\" : -1.5e3 ,\r\n \"b\":null}\n", `{"a":{"b":[1,{"c":"}"}]},"d":[]}`,
	`{"quote \" in \\":"a \\\" } b","next":"\\","last":true}`, `{"":"","":[]}`, `{"\u0061":"ü","ü":{}}`,
	`{"command":"echo \"{\"","cwd":"."}`,
}

func TestMembers(t *testing.T) {
	for _, text := range objects {
		sameMembers(t, []byte(text))
	}
	for name := range members([]byte(`{"a":1,"b":2}`)) {
		if name != "a" {
			t.Errorf("%s comes after the end", name)
		}
		break
	}
}

func FuzzMembers(f *testing.F) {
	for _, text := range objects {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if json.Valid(text) && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
			sameMembers(t, text)
		}
		for range members(text) { // an invalid text has an end, too
		}
	})
}

func sameMembers(t *testing.T, text []byte) {
	t.Helper()
	var got []member
	for name, value := range members(text) {
		got = append(got, member{name, string(value)})
	}
	if diff := cmp.Diff(decoded(text), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", text, diff)
	}
}

func TestStringEnd(t *testing.T) {
	for text, want := range map[string]int{
		`"`: 1, `"a`: 2, `""`: 2, `"a"b`: 3, `"\"`: 3, `"\""x`: 4, `"\\"x`: 4, `"\\\"" "`: 6,
	} {
		if got := stringEnd([]byte(text), 0); got != want {
			t.Errorf("stringEnd(%s) = %d, want %d", text, got, want)
		}
	}
}
