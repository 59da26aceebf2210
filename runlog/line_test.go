package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// encoded is the line of an event with nothing before it.
func encoded(tb testing.TB, e ralph.Event) string {
	tb.Helper()
	return linkedTo(tb, e, nil)
}

// linkedTo is the line of an event that stands behind before.
func linkedTo(tb testing.TB, e ralph.Event, before []byte) string {
	tb.Helper()
	var line bytes.Buffer
	if err := appendLine(&line, e, linkOf(before)); err != nil {
		tb.Fatal(err)
	}
	return line.String()
}

// unlinked is the line of an event as versions without links wrote it.
func unlinked(tb testing.TB, e ralph.Event) string {
	tb.Helper()
	line := encoded(tb, e)
	body, _ := cutLink([]byte(line[:len(line)-1-sumBytes]))
	return string(sealed(string(body))) + "\n"
}

// sealed gives any text the sum that makes it a line, without the newline. The text is an object
// without its closing brace.
func sealed(text string) []byte {
	return fmt.Appendf(nil, `%s,"sum":"%08x"}`, text, crc32.Checksum([]byte(text), castagnoli))
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

func TestLineIsTheDocumentedFormat(t *testing.T) {
	got := encoded(t, ralph.Event{
		Version: 1, Seq: 7, Time: time.Date(2026, 1, 2, 4, 4, 5, 600, time.FixedZone("", 3600)), Run: "01J", Iteration: 3,
		Type: ralph.EvNotice,
		Data: ralph.Notice{Code: "c", Text: "<a> & \"b\"\nc\u2028"},
	})
	want := `{"v":1,"seq":7,"ts":"2026-01-02T03:04:05.0000006Z","run":"01J","iteration":3,"type":"notice",` +
		`"data":{"code":"c","text":"<a> & \"b\"\nc\u2028"},` +
		`"prev":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","sum":"` + got[len(
		got,
	)-11:len(got)-3] + "\"}\n"
	if got != want {
		t.Errorf("got  %s want %s", got, want)
	}
	body := got[:len(got)-len(`,"sum":"00000000"}`)-1]
	sum := fmt.Sprintf("%08x", crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)))
	if !strings.HasSuffix(got, sum+"\"}\n") {
		t.Errorf("the sum should be %s: %s", sum, got)
	}
	if !json.Valid([]byte(got)) || strings.Count(got, "\n") != 1 {
		t.Errorf("not one line of JSON: %q", got)
	}
}

func TestRandomEventsComeBackAsTheyWere(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		want := ralph.Event{
			Version: 1, Seq: random.Int64N(1 << 40), Time: time.Unix(random.Int64N(1<<32), random.Int64N(1e9)).UTC(),
			Run:       fmt.Sprintf("R-%d_z", random.Uint64()),
			Iteration: random.IntN(1e6), Type: ralph.EvNotice,
			Data: ralph.Notice{Code: randomText(random), Text: randomText(random)},
		}
		line := strings.TrimSuffix(encoded(t, want), "\n")
		envelope, err := parseLine([]byte(line))
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if _, ok := parseOwn([]byte(line[:len(line)-sumBytes-linkBytes])); !ok {
			t.Fatalf("read the slow way: %s", line)
		}
		data, err := ralph.DecodePayload(envelope.kind, envelope.data)
		if err != nil {
			t.Fatal(err)
		}
		got := ralph.Event{
			Version: envelope.version, Seq: envelope.seq, Time: envelope.time, Run: string(envelope.run),
			Iteration: envelope.iteration,
			Type:      envelope.kind, Data: data,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

func randomText(random *rand.Rand) string {
	alphabet := []rune("ab \"\\/\n\r\t\x00\x1b\x7f<>&é世🙂\u2028\ufffd}],:{[")
	text := make([]rune, random.IntN(20))
	for i := range text {
		text[i] = alphabet[random.IntN(len(alphabet))]
	}
	return string(text)
}

func TestLinesOfOtherLayoutsAreReadByMeaning(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	plain := envelope{1, 2, at, []byte("R"), 3, "notice", []byte(`{"code":"x"}`), false}
	tied := plain
	tied.linked = true
	digits := strings.Repeat("0a", 32)
	tests := []struct {
		name, text string
		want       envelope
	}{
		{
			"our own", `{"v":1,"seq":2,"ts":"2026-01-02T03:04:05Z","run":"R","iteration":3,"type":"notice","data":{"code":"x"}`,
			plain,
		},
		{
			"another order",
			`{"seq":2,"v":1,"type":"notice","data":{"code":"x"},"ts":"2026-01-02T03:04:05Z","run":"R","iteration":3`, plain,
		},
		{
			"a new field",
			`{"v":1,"seq":2,"ts":"2026-01-02T03:04:05Z","run":"R","host":"h","iteration":3,"type":"notice","data":{"code":"x"}`,
			plain,
		},
		{
			"blanks",
			`{ "v": 1, "seq":2,"ts":"2026-01-02T03:04:05Z","run":"R","iteration":3,"type":"notice","data":{"code":"x"}`, plain,
		},
		{
			"escapes",
			`{"v":1,"seq":2,"ts":"2026-01-02T03:04:05Z","run":"\u0052","iteration":3,"type":"notice","data":{"code":"x"}`, plain,
		},
		{
			"an unknown type",
			`{"v":1,"seq":2,"ts":"2026-01-02T03:04:05Z","run":"R","iteration":3,"type":"new","data":[]`,
			envelope{1, 2, at, []byte("R"), 3, "new", []byte(`[]`), false},
		},
		{
			"with a link",
			`{"v":1,"seq":2,"ts":"2026-01-02T03:04:05Z","run":"R","iteration":3,"type":"notice","data":{"code":"x"},"prev":"` +
				digits + `"`,
			tied,
		},
		{
			"another order, with a link",
			`{"seq":2,"v":1,"type":"notice","data":{"code":"x"},"ts":"2026-01-02T03:04:05Z","run":"R","iteration":3,"prev":"` +
				digits + `"`,
			tied,
		},
		{
			"no link, but one in the data",
			`{"v":1,"seq":2,"ts":"2026-01-02T03:04:05Z","run":"R","iteration":3,"type":"n","data":{"a":1,"prev":"` + digits +
				`"}`,
			envelope{
				1, 2, at, []byte("R"), 3, "n", []byte(`{"a":1,"prev":"` + digits + `"}`), false,
			},
		},
		{
			"no link, but a text like one",
			`{"v":1,"seq":2,"ts":"2026-01-02T03:04:05Z","run":"R","iteration":3,"type":"n","data":",\"prev\":\"` + digits + `"`,
			envelope{
				1, 2, at, []byte("R"), 3, "n", []byte(`",\"prev\":\"` + digits + `"`), false,
			},
		},
	}
	for _, test := range tests {
		got, err := parseLine(sealed(test.text))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(envelope{})); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestWrongLinesAreRefused(t *testing.T) {
	good := strings.TrimSuffix(
		encoded(t, ralph.Event{Version: 1, Seq: 1, Run: "R", Type: ralph.EvNotice, Data: ralph.Notice{}}), "\n",
	)
	upper := good[:len(good)-sumBytes] + strings.Replace(strings.ToUpper(good[len(good)-sumBytes:]), "SUM", "sum", 1)
	tests := []struct {
		name, line string
		wrongSum   bool
	}{
		{"empty", "", true},
		{"only a sum", string(sealed("")), false},
		{"no sum", `{"v":1,"seq":1}`, true},
		{"other digits", good[:len(good)-3] + "x\"}", true},
		{"upper-case digits", upper, true},
		{"something behind", good + " ", true},
		{"not JSON", string(sealed(`{"v":1,"seq":`)), false},
		{"a text for a number", string(sealed(`{"v":1,"seq":"1"`)), false},
		{
			"a bad time", string(sealed(`{"v":1,"seq":1,"ts":"today","run":"R","iteration":0,"type":"notice","data":{}`)), false,
		},
	}
	for _, test := range tests {
		_, err := parseLine([]byte(test.line))
		if err == nil || errors.Is(err, errSum) != test.wrongSum {
			t.Errorf("%s: got %v, want a wrong sum: %t", test.name, err, test.wrongSum)
		}
	}
}

func TestEventsThatCannotBeALineAreRefused(t *testing.T) {
	for _, e := range []ralph.Event{
		{Run: "a\"b", Type: ralph.EvNotice},
		{Run: "", Type: ralph.EvNotice},
		{Run: "R", Type: "no tice"},
		{Run: "R", Type: ralph.EvNotice, Data: func() {}},
		{Run: "R", Type: ralph.EvNotice, Data: strings.Repeat("x", maxLine)},
	} {
		var line bytes.Buffer
		if err := appendLine(&line, e, link{}); err == nil {
			t.Errorf("%s of %q became a line", e.Type, e.Run)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	sample := &script{run: sampleRun}
	sample.start()
	sample.iteration(1)
	for _, e := range sample.events {
		line := encoded(f, e)
		f.Add([]byte(line[:len(line)-sumBytes-1]))
		f.Add([]byte(line[:len(line)-linkBytes-sumBytes-1]))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		line := sealed(string(body))
		rest, _ := cutLink(body)
		own, ok := parseOwn(rest)
		any, err := parseAny(line)
		if !ok || err != nil || !json.Valid(own.data) || !isPlainName(string(own.run)) { // no other run is ever asked for
			return
		}
		if diff := cmp.Diff(any, own, cmp.AllowUnexported(envelope{})); diff != "" {
			t.Error(diff)
		}
	})
}
