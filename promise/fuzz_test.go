package promise

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func FuzzParse(f *testing.F) {
	for i, c := range allCases(f) {
		f.Add(strings.Join(c.messages(), ""), c.Prompt, uint64(i))
	}
	f.Fuzz(func(t *testing.T, text, prompt string, seed uint64) {
		o := Options{Prompt: prompt}
		whole := Parse(text, o)
		random := rand.New(rand.NewPCG(seed, 0))
		split := readPieces(o, []string{text}, func(left int) int { return 1 + random.IntN(left) })
		if diff := cmp.Diff(whole, split); diff != "" {
			t.Errorf("%q (-whole +split):\n%s", text, diff)
		}
		checkBounds(t, whole)
		checkRoundTrip(t, whole)
	})
}

func FuzzStatus(f *testing.F) {
	for _, c := range allCases(f) {
		if _, after, ok := strings.Cut(c.messages()[0], blockBegins+"\n"); ok {
			inside, _, _ := strings.Cut(after, blockEnds)
			f.Add(inside)
		}
	}
	f.Fuzz(func(t *testing.T, inside string) {
		got := Parse(blockBegins+"\n"+inside+"\n"+blockEnds+"\n", Options{})
		checkBounds(t, got)
		checkRoundTrip(t, got)
		if got.Status == nil {
			return
		}
		// A valid block, printed as the contract shows it, must read as the same block.
		again := Parse(printed(*got.Status), Options{})
		if diff := cmp.Diff(got.Status, again.Status); diff != "" {
			t.Errorf("%q read again (-first +second):\n%s", inside, diff)
		}
	})
}

// checkBounds checks the guarantees that hold for every report, regardless of the input.
func checkBounds(t *testing.T, r Report) {
	t.Helper()
	texts := []string{r.CompleteText}
	for _, p := range []*string{r.Blocked, r.Decide, r.Untestable} {
		if p != nil {
			texts = append(texts, *p)
		}
	}
	if r.Status != nil {
		texts = append(texts, r.Status.Recommendation)
	}
	for _, l := range r.Learnings {
		if l == "" || utf8.RuneCountInString(l) > maxLearning || strings.ContainsRune(l, '\n') {
			t.Errorf("a learning is empty, too long or no line: %q", l)
		}
	}
	for _, s := range append(texts, r.Learnings...) {
		if utf8.RuneCountInString(s) > maxContent || s != tidied([]byte(s)) || !utf8.ValidString(s) {
			t.Errorf("content is too long or untidy: %q", s)
		}
	}
	if len(r.TasksDone) > maxTasks || len(r.Mentions) > maxRecorded || len(r.Unknown) > maxRecorded ||
		len(r.Learnings) > maxLearnings {
		t.Errorf("unbounded report: %+v", r)
	}
	if r.Complete != (r.CompleteTag != "" || r.Status != nil && r.Status.Claims()) {
		t.Errorf("complete without a claim, or the other way round: %+v", r)
	}
}

// checkRoundTrip checks that a report survives being written to a log and read back.
func checkRoundTrip(t *testing.T, r Report) {
	t.Helper()
	stored, err := json.Marshal(r)
	if err != nil {
		t.Fatalf("marshal report: %v", err)
	}
	var back Report
	if err := json.Unmarshal(stored, &back); err != nil {
		t.Fatalf("unmarshal report: %v", err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Errorf("report from the log (-said +read):\n%s", diff)
	}
}
