package interview

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestReadAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []entry
	}{
		"json":             {"\xef\xbb\xbf {\"Which  one?\": \"This\\u001b.\",\n \"b\": \" c \"}\n", []entry{{key: "Which one?", text: "This."}, {key: "b", text: "c"}}},
		"empty json":       {"{}", nil},
		"empty":            {" \n", nil},
		"markdown":         {"# Answers\n\nAside.\n\n## Which one? ##\r\nThis.\r\n\r\nAnd that.\n\n### Why\nSo.\n## Second\n", []entry{{key: "Which one?", text: "This.\n\nAnd that.\n\n### Why\nSo."}, {key: "Second"}}},
		"markdown, fenced": {"## A\n```sh\n## no question\n~~~\n```\nb\n## C\nd", []entry{{key: "A", text: "```sh\n## no question\n~~~\n```\nb"}, {key: "C", text: "d"}}},
		"heading alone":    {"## ", []entry{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "answers")
			must(t, os.WriteFile(path, []byte(c.text), 0o644))
			got, err := ReadAnswers(path)
			must(t, err)
			if d := cmp.Diff(c.want, got.entries, cmp.AllowUnexported(entry{}), cmpopts.IgnoreFields(entry{}, "pattern")); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestAnswersThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"a\": 7}":               `line 2: the answer to "a" is no text`,
		"{\n\"a\": \"b\",\n\n}":      "line 4: ",
		`{"a":"b"`:                   "line 1: ",
		`{"a":"b"} x`:                "line 1: something follows the object",
		`{"a":"b"}{}`:                "line 1: something follows the object",
		"{\"a\":\"b\",\n\"a\":\"\"}": `line 2: the question "a" is there twice`,
		"## a\nb\n## a\nc":           `the question "a" is there twice`,
		"yes\nno":                    "there is no question in it: ",
		"## a\n\xff":                 "the file is not UTF-8",
		"## a\n" + strings.Repeat("x", answersLimit): "the file has more than 1048576 bytes",
		manyAnswers(entriesLimit + 1):                "there are more than 1000 answers",
	} {
		path := filepath.Join(t.TempDir(), "answers")
		must(t, os.WriteFile(path, []byte(text), 0o644))
		_, err := ReadAnswers(path)
		if prefix := "read answers: " + path + ": " + want; err == nil || !strings.HasPrefix(err.Error(), prefix) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if _, err := ReadAnswers(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := ReadAnswers(t.TempDir()); err == nil {
		t.Error("a folder was read")
	}
}

func manyAnswers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("## " + strings.Repeat("x", 1+i) + "\n")
	}
	return b.String()
}

func TestWhichAnswerAQuestionGets(t *testing.T) {
	const file = `{"Database?":"d","database":"short","which database":"long","^how many":"n","a[":"open","empty":"","Last":"l"}`
	for _, c := range []struct {
		name      string
		questions []string
		want      []string // "" is none
		unused    []string
	}{
		{"the same", []string{"Database?"}, []string{"d"}, []string{"database", "which database", "^how many", "a[", "Last"}},
		{"the longest key it holds", []string{"WHICH DATABASE shall it be?"}, []string{"long"}, []string{"Database?", "database", "^how many", "a[", "Last"}},
		{"held by a key", []string{"Which data"}, []string{"long"}, []string{"Database?", "database", "^how many", "a[", "Last"}},
		{"twice", []string{"My database: which?", "Your database: which?"}, []string{"short", "short"}, []string{"Database?", "which database", "^how many", "a[", "Last"}},
		{"an expression", []string{"How  many\nof them?"}, []string{"n"}, []string{"Database?", "database", "which database", "a[", "Last"}},
		{"no expression", []string{"What is a[0]?"}, []string{"open"}, []string{"Database?", "database", "which database", "^how many", "Last"}},
		{"in order", []string{"One?", "Two?", "database", "Three?", "Four?", "Five?", "Six?", "Seven?"}, []string{"d", "short", "short", "long", "n", "open", "l", ""}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := parseAnswers([]byte(file))
			must(t, err)
			var got []string
			for _, q := range c.questions {
				answer, ok, err := a.Ask(t.Context(), Question{Text: q})
				must(t, err)
				if ok != (answer != "") {
					t.Errorf("%q: %v", q, ok)
				}
				got = append(got, answer)
			}
			diff(t, c.want, got)
			diff(t, c.unused, a.Unused())
		})
	}
}

func TestGuessedAnswersAreTold(t *testing.T) {
	a, err := parseAnswers([]byte("## Colour\nred\n## Size\nlarge\n"))
	must(t, err)
	for _, q := range []string{"Which size is it?", "Who?", "Why?"} {
		_, _, err := a.Ask(t.Context(), Question{Text: q})
		must(t, err)
	}
	diff(t, []Given{{Question: "Which size is it?", Key: "Size", Answer: "large"}, {Question: "Who?", Key: "Colour", Answer: "red", Guessed: true}}, a.Given())
}

func TestMarkdownKeysAreNoExpressions(t *testing.T) {
	a, err := parseAnswers([]byte("## .*\nanything\n## x\nb\n"))
	must(t, err)
	answer, _, err := a.Ask(t.Context(), Question{Text: "x?"})
	must(t, err)
	diff(t, "b", answer)
}

func TestAnswersAnInterview(t *testing.T) {
	r := newRoom(t)
	answers, err := parseAnswers([]byte("## argument or standard input\n2\n## Unasked\nx\n"))
	must(t, err)
	o, _ := r.with(asks(t, "Argument or standard input?", "argument", "standard input"), calls(t, writePlan, somePlan()))
	o.Ask = answers.Ask
	got, err := Run(t.Context(), o)
	must(t, err)
	diff(t, Written, got.Status)
	diff(t, "standard input", got.Asked[0].Answer)
	diff(t, []string{"Unasked"}, answers.Unused())
}

// FuzzAnswers: whatever a file holds, nothing panics, every answer is plain, and there are no more guesses than answers.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"a":"b","c.*":"d"}`), "a question")
	f.Add([]byte("## a\nb\n```\n## c\n```\n## d\n"), "d?")
	f.Add([]byte("{\"\xff\":1}"), "")
	f.Fuzz(func(t *testing.T, data []byte, question string) {
		a, err := parseAnswers(data)
		if err != nil {
			return
		}
		before := len(a.Unused())
		for range 3 {
			answer, ok, err := a.Ask(t.Context(), Question{Text: question})
			if err != nil || ok != (answer != "") || plainText(answer) != answer {
				t.Errorf("%q %v %v", answer, ok, err)
			}
		}
		used := before - len(a.Unused())
		if used > 3 || before > 0 && used == 0 {
			t.Errorf("%d of %d used", used, before)
		}
	})
}
