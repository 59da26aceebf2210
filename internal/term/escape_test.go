package term

import (
	"encoding/json"
	"testing"
)

// Finding B17: nothing that an agent or a repository wrote reaches a terminal raw.
func TestTextForATerminal(t *testing.T) {
	const hostile = "a\x1b]52;c;aGk=\ab\u009b31mc\u202ed\u2066e\tf\ng\x7fh\U000e0001i\xff"
	if got, want := CleanText(hostile), "a]52;c;aGk=b31mcde\tf\nghi\ufffd"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	data, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	escaped := EscapeJSON(data)
	if got := CleanText(string(escaped)); got != string(escaped) {
		t.Errorf("raw characters in %q", escaped)
	}
	var before, after string
	if json.Unmarshal(data, &before) != nil || json.Unmarshal(escaped, &after) != nil || before != after {
		t.Errorf("%q means %q, want %q", escaped, after, before)
	}
	plain := []byte(`{"text":"naïve 語 \\u202e"}`)
	if got := EscapeJSON(plain); string(got) != string(plain) {
		t.Errorf("changed %s to %s", plain, got)
	}
}
