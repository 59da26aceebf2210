package runlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

func headOf(stretch string) string {
	sum := sha256.Sum256([]byte(stretch))
	return hex.EncodeToString(sum[:])
}

// verified plants a log, with the head that its result tells, and follows its chain.
func verified(tb testing.TB, s *Store, text, recorded string) Chain {
	tb.Helper()
	plant(tb, s, sampleRun, []byte(text))
	result := filepath.Join(s.RunDir(sampleRun), resultName)
	if err := os.WriteFile(result, []byte(`{"run_id":"x","receipt":"`+recorded+`"}`), fileMode); err != nil {
		tb.Fatal(err)
	}
	chain, err := s.Verify(sampleRun)
	if err != nil {
		tb.Fatal(err)
	}
	return chain
}

// shortLog is the lines of a log that is chained as it should be.
func shortLog(tb testing.TB) []string {
	tb.Helper()
	text, _ := logText(tb, allTypes()[:12])
	return strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
}

func joined(lines []string) string { return strings.TrimSuffix(strings.Join(lines, ""), "\n") + "\n" }

// rewritten changes the body of a line, link included, and gives it the sum that makes it whole
// again.
func rewritten(tb testing.TB, line, from, to string) string {
	tb.Helper()
	body := strings.TrimSuffix(line, "\n")
	body = body[:len(body)-sumBytes]
	if !strings.Contains(body, from) {
		tb.Fatalf("%s is not in %s", from, body)
	}
	return string(sealed(strings.Replace(body, from, to, 1))) + "\n"
}

func TestChainOfALog(t *testing.T) {
	s, events := openStore(t), allTypes()
	log, err := s.Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if head := log.Chain(); head != "" {
		t.Errorf("a log without an event has the head %q", head)
	}
	for _, e := range events {
		if err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	text, offsets := logText(t, events)
	n := int64(len(events))
	want := Chain{Head: headOf(string(text[offsets[n-1]:])), Events: n, Linked: n}
	got, err := Verify(log.path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if log.Chain() != want.Head {
		t.Errorf("the log says %s, want %s", log.Chain(), want.Head)
	}
	if err := log.WriteResult(ralph.Result{Receipt: log.Chain()}); err != nil {
		t.Fatal(err)
	}
	want.Recorded, want.At = want.Head, n
	if got, err = Verify(log.path); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestChainBreaksWhereALogWasChanged(t *testing.T) {
	lines := shortLog(t)
	offset := func(line int) int64 { return int64(len(strings.Join(lines[:line], ""))) }
	const link = "its link does not match the lines before it"
	tests := []struct {
		name   string
		change func(lines []string) []string
		want   Break
	}{
		{"a line is edited, and its sum made anew", func(l []string) []string {
			l[4] = rewritten(t, l[4], `"bytes":4096`, `"bytes":4097`)
			return l
		}, Break{6, offset(5), link}},
		{"a line is edited, its sum is not", func(l []string) []string {
			l[4] = strings.Replace(l[4], `"bytes":4096`, `"bytes":4097`, 1)
			return l
		}, Break{5, offset(4), "the checksum does not match"}},
		{"a link is edited", func(l []string) []string {
			at := strings.Index(l[4], linkOpens) + len(linkOpens)
			l[4] = rewritten(t, l[4], l[4][at:at+4], "beef")
			return l
		}, Break{5, offset(4), link}},
		{"a link is made unreadable", func(l []string) []string {
			l[4] = rewritten(t, l[4], `"prev":"`, `"prev":"0`)
			return l
		}, Break{6, offset(5) + 1, link}},
		{"a link is taken away", func(l []string) []string {
			at := strings.Index(l[4], linkOpens)
			l[4] = string(sealed(l[4][:at])) + "\n"
			return l
		}, Break{6, offset(5) - int64(linkBytes), link}},
		{"a line is gone", func(l []string) []string {
			return slices.Delete(l, 4, 5)
		}, Break{5, offset(4), "event 6 follows event 4"}},
		{"a line is gone, and the others have new numbers", func(l []string) []string {
			l = slices.Delete(l, 4, 5)
			for i := 4; i < len(l); i++ {
				l[i] = renumbered(t, l[i], i+1)
			}
			return l
		}, Break{5, offset(4), link}},
		{"the first line is gone, and the others have new numbers", func(l []string) []string {
			l = slices.Delete(l, 0, 1)
			for i := range l {
				l[i] = renumbered(t, l[i], i+1)
			}
			return l
		}, Break{1, 0, link}},
		{"two lines changed places", func(l []string) []string {
			l[4], l[5] = renumbered(t, l[5], 5), renumbered(t, l[4], 6)
			return l
		}, Break{5, offset(4), link}},
		{"a line is there twice", func(l []string) []string {
			l = slices.Insert(l, 5, l[4])
			for i := 5; i < len(l); i++ {
				l[i] = renumbered(t, l[i], i+1)
			}
			return l
		}, Break{6, offset(5), link}},
		{"the end is gone", func(l []string) []string {
			return l[:9]
		}, Break{10, offset(9), "the head recorded in result.json is not in the log"}},
		{"the last line is gone", func(l []string) []string {
			return l[:11]
		}, Break{12, offset(11), "the head recorded in result.json is not in the log"}},
		{
			"everything is gone",
			func([]string) []string { return []string{""} },
			Break{1, 0, "the head recorded in result.json is not in the log"},
		},
	}
	head := headOf(lines[11] + "\n")
	if chain := verified(t, openStore(t), joined(lines), head); chain.Break != nil || chain.At != 12 {
		t.Fatalf("the log itself: got %+v", chain)
	}
	for _, test := range tests {
		got := verified(t, openStore(t), joined(test.change(slices.Clone(lines))), head).Break
		if diff := cmp.Diff(&test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func renumbered(tb testing.TB, line string, seq int) string {
	tb.Helper()
	at := strings.Index(line, `"seq":`)
	end := at + strings.Index(line[at:], ",")
	return rewritten(tb, line, line[at:end], `"seq":`+strconv.Itoa(seq))
}

// As long as the head is known, any changed bit shows.
func TestChainShowsEveryFlippedByte(t *testing.T) {
	lines := shortLog(t)
	text := []byte(joined(lines))
	head := headOf(lines[11] + "\n")
	s := openStore(t)
	var offsets []int
	for end := range text {
		if text[end] == '\n' {
			offsets = append(offsets, end+1)
		}
	}
	for at := range places(len(text), offsets) {
		text[at] ^= 1 << (at % 8)
		if chain := verified(t, s, string(text), head); chain.Break == nil {
			t.Fatalf("byte %d of %d: the chain holds", at, len(text))
		}
		text[at] ^= 1 << (at % 8)
	}
}

// A log that was rewritten with valid links does not match the receipt.
func TestChainThatWasMadeAnewMissesItsRecordedHead(t *testing.T) {
	events := allTypes()[:12]
	lines := shortLog(t)
	events[4].Data = ralph.Notice{Code: "other"}
	text, _ := logText(t, events)
	got := verified(t, openStore(t), string(text), headOf(lines[11]+"\n"))
	if want := (&Break{13, int64(len(text)), "the head recorded in result.json is not in the log"}); !cmp.Equal(
		want, got.Break,
	) {
		t.Errorf("got %+v, want %+v", got.Break, want)
	}
	if chain := verified(t, openStore(t), string(text), ""); chain.Break != nil || chain.Recorded != "" {
		t.Errorf("with no head to compare with: got %+v", chain)
	}
}

// oldLog is a log of a version without links.
func oldLog(tb testing.TB, events []ralph.Event) string {
	tb.Helper()
	var text strings.Builder
	for _, e := range events {
		text.WriteString(unlinked(tb, e))
	}
	return text.String()
}

// goOn reopens a run, as a resume does, and appends to it.
func goOn(tb testing.TB, s *Store, events ...ralph.Event) string {
	tb.Helper()
	log, _, _, err := reopen(s, sampleRun)
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	for _, e := range events {
		if err := log.Append(e); err != nil {
			tb.Fatal(err)
		}
	}
	return log.Chain()
}

func TestOldLogHasNoLinksAndIsReadable(t *testing.T) {
	s, events := openStore(t), allTypes()
	text := oldLog(t, events)
	got := verified(t, s, text, "")
	if diff := cmp.Diff(Chain{Head: headOf(text), Events: int64(len(events))}, got); diff != "" {
		t.Error(diff)
	}
	state, err := stateOf(s, sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	if diff := diffStates(folded(t, events), state); diff != "" {
		t.Error(diff)
	}
}

func TestOldLogThatGoesOnIsTiedAsAWhole(t *testing.T) {
	s, events := openStore(t), allTypes()
	old := oldLog(t, events[:6])
	plant(t, s, sampleRun, []byte(old+`{"v":1,"torn`))
	head := goOn(t, s, events[6:9]...)
	text, err := os.ReadFile(s.logPath(sampleRun))
	if err != nil {
		t.Fatal(err)
	}
	want := Chain{Head: head, Events: 9, Linked: 3, Recorded: head, At: 9}
	if diff := cmp.Diff(want, verified(t, s, string(text), head)); diff != "" {
		t.Error(diff)
	}
	lines := strings.SplitAfter(old, "\n")
	for i := range 6 { // an edit of any old line shows at the first link
		changed := slices.Clone(lines)
		changed[i] = rewritten(t, changed[i], `"ts":"2026`, `"ts":"2025`)
		got := verified(t, s, strings.Join(changed, "")+string(text[len(old):]), "").Break
		if diff := cmp.Diff(&Break{7, int64(len(old)), "its link does not match the lines before it"}, got); diff != "" {
			t.Errorf("line %d: %s", i+1, diff)
		}
	}
}

// A version without links can continue a log that has some, and be followed by one that has:
// nothing falls between the links.
func TestLinesWithoutLinksAreTiedByTheNextLink(t *testing.T) {
	s, events := openStore(t), allTypes()
	text, offsets := logText(t, events[:4])
	middle := oldLog(t, events[4:7])
	plant(t, s, sampleRun, append(bytes.Clone(text), middle...))
	head := goOn(t, s, events[7], events[8])
	all, err := os.ReadFile(s.logPath(sampleRun))
	if err != nil {
		t.Fatal(err)
	}
	want := Chain{Head: head, Events: 9, Linked: 6, Recorded: headOf(string(text[offsets[3]:])), At: 4}
	if diff := cmp.Diff(want, verified(t, s, string(all), want.Recorded)); diff != "" {
		t.Error(diff)
	}
	lines := strings.SplitAfter(string(all), "\n")
	for _, i := range []int{3, 4, 6} {
		changed := slices.Clone(lines)
		changed[i] = rewritten(t, changed[i], `"ts":"2026`, `"ts":"2025`)
		got := verified(t, s, strings.Join(changed, ""), "").Break
		want := &Break{8, int64(len(text) + len(middle)), "its link does not match the lines before it"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("line %d: %s", i+1, diff)
		}
	}
}

func TestChainGoesOnBehindATornLine(t *testing.T) {
	s, events := openStore(t), allTypes()
	text, offsets := logText(t, events[:9])
	torn := string(text[:offsets[6]+40])
	got := verified(t, s, torn, "")
	want := Chain{Head: headOf(string(text[offsets[5]:offsets[6]])), Events: 6, Linked: 6, Torn: 40}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	head := goOn(t, s, events[6:9]...)
	again, err := os.ReadFile(s.logPath(sampleRun))
	if err != nil || !bytes.Equal(text, again) || head != headOf(string(text[offsets[8]:])) {
		t.Errorf("the log does not go on as if nothing had been (%v)", err)
	}
}

// A line that could not be written leaves no trace in the chain.
func TestChainForgetsALineThatWasNotWritten(t *testing.T) {
	s, log, bad, events := faultyLog(t)
	before := log.Chain()
	bad.room, bad.full = 50, syscall.ENOSPC
	if err := log.Append(events[3]); !errors.Is(err, syscall.ENOSPC) || log.Chain() != before {
		t.Fatalf("got %v and the head %s, want %s", err, log.Chain(), before)
	}
	bad.full = nil
	if err := log.Append(events[3]); err != nil {
		t.Fatal(err)
	}
	got, err := s.Verify(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Chain{Head: log.Chain(), Events: 4, Linked: 4}, got); diff != "" {
		t.Error(diff)
	}
}

func TestChainOfALongLog(t *testing.T) {
	events, text, offsets := longLog(t, 600)
	s, n := openStore(t), int64(len(events))
	head := headOf(string(text[offsets[n-1]:]))
	intact := Chain{Head: head, Events: n, Linked: n, Recorded: head, At: n}
	if diff := cmp.Diff(intact, verified(t, s, string(text), head)); diff != "" {
		t.Error(diff)
	}
	line := string(text[offsets[4000]:offsets[4001]])
	changed := string(text[:offsets[4000]]) + rewritten(t, line, `"ts":"2026`, `"ts":"2025`) + string(text[offsets[4001]:])
	want := &Break{4002, int64(offsets[4001]), "its link does not match the lines before it"}
	if diff := cmp.Diff(want, verified(t, s, changed, head).Break); diff != "" {
		t.Error(diff)
	}
}

func TestChainThatCannotBeRead(t *testing.T) {
	s := openStore(t)
	if _, err := s.Verify("R"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no log: got %v", err)
	}
	plant(
		t,
		s,
		"R",
		append(
			sealed(`{"v":2,"seq":1,"ts":"2026-01-02T03:04:05Z","run":"R","iteration":0,"type":"run_started","data":{}`), '\n',
		),
	)
	if _, err := s.Verify("R"); !strings.Contains(err.Error(), "use a newer ralph") {
		t.Errorf("a newer log: got %v", err)
	}
	plant(t, s, "R", nil)
	got, err := s.Verify("R")
	if diff := cmp.Diff(Chain{}, got); err != nil || diff != "" {
		t.Errorf("an empty log: %v %s", err, diff)
	}
}
