package promise

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// contractCase is a labeled example from the contract. It says less than a Report, so only the
// parts it names are compared.
type contractCase struct {
	Name   string         `json:"name"`
	Text   string         `json:"text"`
	Expect contractReport `json:"expect"`
}

type contractReport struct {
	Complete   bool     `json:"complete"`
	Blocked    *string  `json:"blocked"`
	Decide     *string  `json:"decide"`
	Untestable *string  `json:"untestable"`
	TasksDone  []string `json:"tasks_done"`
	Status     string   `json:"status"`
}

func contractView(r Report) contractReport {
	v := contractReport{r.Complete, r.Blocked, r.Decide, r.Untestable, append([]string{}, r.TasksDone...), "none"}
	switch {
	case r.Status != nil:
		v.Status = "valid"
	case r.StatusProblem != "":
		v.Status = "invalid"
	}
	return v
}

func TestContractCases(t *testing.T) {
	for _, c := range readCases[contractCase](t, "testdata/cases.jsonl") {
		t.Run(c.Name, func(t *testing.T) {
			if diff := cmp.Diff(c.Expect, contractView(Parse(c.Text, Options{}))); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", c.Text, diff)
			}
		})
	}
}

// ownCase covers a detail that the contract leaves open, or that is easy to get wrong.
type ownCase struct {
	Name     string   `json:"name"`
	Text     string   `json:"text,omitempty"`
	Messages []string `json:"messages,omitempty"` // instead of Text
	Tags     []string `json:"tags,omitempty"`
	Prompt   string   `json:"prompt,omitempty"`
	Phrases  []string `json:"phrases,omitempty"`
	Expect   Report   `json:"expect"`
	Why      string   `json:"why"`
}

func (c ownCase) messages() []string {
	if len(c.Messages) > 0 {
		return c.Messages
	}
	return []string{c.Text}
}

func (c ownCase) options() Options {
	return Options{CompletionTags: c.Tags, Prompt: c.Prompt, Phrases: c.Phrases}
}

func TestOwnCases(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range readCases[ownCase](t, "testdata/more.jsonl") {
		t.Run(c.Name, func(t *testing.T) {
			if c.Why == "" || seen[c.Name] {
				t.Errorf("case %q needs a reason and a name of its own", c.Name)
			}
			seen[c.Name] = true
			got := readWhole(c.options(), c.messages())
			if diff := cmp.Diff(c.Expect, got); diff != "" {
				t.Errorf("%s\n%q (-want +got):\n%s", c.Why, c.messages(), diff)
			}
		})
	}
}

// allCases returns the contract's cases and our own, all in the form of ownCase.
func allCases(t testing.TB) []ownCase {
	all := readCases[ownCase](t, "testdata/more.jsonl")
	for _, c := range readCases[contractCase](t, "testdata/cases.jsonl") {
		all = append(all, ownCase{Name: c.Name, Text: c.Text})
	}
	return all
}

func TestSplitAnywhere(t *testing.T) {
	for _, c := range allCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			want := readWhole(c.options(), c.messages())
			compare := func(how string, n int, got Report) {
				t.Helper()
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s %d (-whole +split):\n%s", how, n, diff)
				}
			}
			for _, size := range []int{1, 2, 3, 5, 7, 11} {
				compare("in pieces of", size, readPieces(c.options(), c.messages(), func(int) int { return size }))
			}
			// A few texts are long only because they repeat themselves; some split points are enough for
			// them.
			step := 1 + len(c.messages()[0])/1000*20
			for at := 1; at < len(c.messages()[0]); at += step {
				compare("split at", at, readSplitOnce(c.options(), c.messages(), at))
			}
		})
	}
}

func TestSplitOfManyMessages(t *testing.T) {
	cases := allCases(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var text strings.Builder
		for range 1 + random.IntN(8) {
			text.WriteString(cases[random.IntN(len(cases))].messages()[0])
		}
		o := Options{Prompt: cases[random.IntN(len(cases))].Text}
		messages := []string{text.String()}
		want := readWhole(o, messages)
		got := readPieces(o, messages, func(left int) int { return 1 + random.IntN(min(left, 40)) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-whole +split):\n%s", text.String(), diff)
		}
	}
}

func readWhole(o Options, messages []string) Report {
	return readPieces(o, messages, func(left int) int { return left })
}

// readPieces writes each message in pieces of the lengths that next returns.
func readPieces(o Options, messages []string, next func(left int) int) Report {
	s := NewScanner(o)
	for i, m := range messages {
		if i > 0 {
			s.EndMessage()
		}
		for len(m) > 0 {
			n := min(next(len(m)), len(m))
			s.Write([]byte(m[:n]))
			m = m[n:]
		}
	}
	return s.Report()
}

func readSplitOnce(o Options, messages []string, at int) Report {
	first := true
	return readPieces(o, messages, func(left int) int {
		if first {
			first = false
			return at
		}
		return left
	})
}

func readCases[T any](t testing.TB, path string) []T {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var cases []T
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var c T
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v: %s", path, err, lines.Text())
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil || len(cases) == 0 {
		t.Fatalf("read %s: %d cases, %v", path, len(cases), err)
	}
	return cases
}
