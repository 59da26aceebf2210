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
		"json": {
			"\xef\xbb\xbf {\"Which  one?\": \"This\\u001b.\",\n \"b\": \" c \"}\n",
			[]entry{{key: "Which one?", text: "This."}, {key: "b", text: "c"}},
		},
		"empty json": {"{}", nil},
		"empty":      {" \n", nil},
		"markdown": {
			"# Answers\n\nAside.\n\n## Which one? ##\r\nThis.\r\n\r\nAnd that.\n\n### Why\nSo.\n## Second\n",
			[]entry{{key: "Which one?", text: "This.\n\nAnd that.\n\n### Why\nSo."}, {key: "Second"}},
		},
		"markdown, fenced": {
			"## A\n```sh\n## no question\n~~~\n```\nb\n## C\nd",
			[]entry{{key: "A", text: "```sh\n## no question\n~~~\n```\nb"}, {key: "C", text: "d"}},
		},
		"heading alone": {"## ", []entry{{}}},
		"json list":     {" [\"This\\u001b.\",\n\"\", \" c \"]\n", []entry{{text: "This."}, {}, {text: "c"}}},
		"lines": {
			"yes\n\n- no\r\n2) two words\n-5\n",
			[]entry{{text: "yes"}, {text: "no"}, {text: "two words"}, {text: "-5"}},
		},
		"a link first": {"[notes]\n## A\nb", []entry{{key: "A", text: "b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "answers")
			must(t, os.WriteFile(path, []byte(c.text), 0o644))
			got, err := ReadAnswers(path)
			must(t, err)
			if d := cmp.Diff(
				c.want, got.entries, cmp.AllowUnexported(entry{}), cmpopts.IgnoreFields(entry{}, "pattern", "words"),
			); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestAnswersThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"a\": 7}":               `line 2: the answer to "a" is not a string`,
		"{\n\"a\": \"b\",\n\n}":      "line 4: ",
		`{"a":"b"`:                   "line 1: ",
		`{"a":"b"} x`:                "line 1: unexpected content after the object",
		`{"a":"b"}{}`:                "line 1: unexpected content after the object",
		"{\"a\":\"b\",\n\"a\":\"\"}": `line 2: the question "a" occurs twice`,
		"## a\nb\n## a\nc":           `the question "a" occurs twice`,
		"# a\nb":                     "no questions found: ",
		"yes\n### a\nb":              "no questions found: ",
		"[\"a\",\n7]":                "line 2: an answer in the list is not a string",
		`["a",null]`:                 "an answer in the list is not a string",
		`["a"`:                       "expected a list of strings: ",
		`{"":"b"}`:                   `line 1: the answer "b" has no question`,
		"## \nb":                     `the answer "b" has no question`,
		`{"a?":"b","A":"c"}`:         `line 1: the question "A" occurs twice`,
		"{\n\"*bad(\":\"b\"}": `line 2: the question "*bad(" is not a valid regular expression (missing argument ` +
			`to repetition operator); `,
		`{"how (long|often":"b"}`: `line 1: the question "how (long|often" is not a valid regular expression (missing ` +
			`closing )); `,
		`{"/how (long/":"b"}`: `line 1: the question "/how (long/" is not a valid regular expression (missing closing )); `,
		`{"//":"b"}`:          `line 1: the question "//" is an expression that matches everything`,
		`{"/` + strings.Repeat("x", patternLimit+1) + `/":"b"}`: "line 1: the expression \"/xxx",
		"## a\n\xff": "the file is not UTF-8",
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
	const file = `{"Database?":"d","which database":"words","^how (many|much)":"n","colou?r":"red","Use ` +
		`C++?":"plus","empty":"","(Really) last.":"l"}`
	const postgres = `{"Which database do we use?":"postgres","Delete production data?":"yes"}`
	for _, c := range []struct {
		name, file string
		questions  []string
		want       []string // "" is none
		unused     []string
	}{
		{
			"the same", file, []string{"Database?"}, []string{"d"},
			[]string{"which database", "^how (many|much)", "colou?r", "Use C++?", "(Really) last."},
		},
		{
			"the same words", file, []string{"WHICH\n“database”?", "Which - database!", "really last"},
			[]string{"words", "words", "l"}, []string{"Database?", "^how (many|much)", "colou?r", "Use C++?"},
		},
		{
			"an expression", file, []string{"How  many\nof them?", "What COLOR?"}, []string{"n", "red"},
			[]string{"Database?", "which database", "Use C++?", "(Really) last."},
		},
		{
			"a question that would be no expression", file, []string{"use c++", "Use C?"}, []string{"plus", ""},
			[]string{"Database?", "which database", "^how (many|much)", "colou?r", "(Really) last."},
		},
		{
			"more or fewer words are another question", file,
			[]string{"Which database is it to be?", "database which", "Really last of all?", "Data", "Empty?"},
			[]string{"", "", "", "", ""},
			[]string{"Database?", "which database", "^how (many|much)", "colou?r", "Use C++?", "(Really) last."},
		},
		{
			"meant for others", postgres, []string{"Which name should it have?", "Negative results allowed?"}, []string{"", ""},
			[]string{"Which database do we use?", "Delete production data?"},
		},
		{
			"Markdown meant for others", "## Which database do we use?\npostgres",
			[]string{"Which name?", "Which database do we use there?"}, []string{"", ""}, []string{"Which database do we use?"},
		},
		{
			"between slashes",
			`{"/old API/":"keep","/which.numbers/":"all","/^database\\?$/":"sqlite","old":"no"}`,
			[]string{"Does the OLD  api stay?", "Which numbers?", "Database?", "Database? Or files?", "/old API/"},
			[]string{"keep", "all", "sqlite", "", "keep"},
			[]string{"old"},
		},
		{
			"plain words are no expression without them",
			`{"old API":"a","which.numbers":"b","Which numbers":"c","how (many":"d","and/or":"e"}`,
			[]string{"Does the old API stay?", "which-numbers", "Which numbers do we take?", "How (many)?", "this and/or that"},
			[]string{"", "", "", "d", ""},
			[]string{"old API", "which.numbers", "Which numbers", "and/or"},
		},
		{"a list", `["a","","b","c"]`, []string{"One?", "Two?"}, []string{"a", "b"}, []string{"c"}},
		{"lines", "- a\nb\n", []string{"One?", "Two?", "Three?"}, []string{"a", "b", ""}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := parseAnswers([]byte(c.file))
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

func TestWhichAnswersWereGiven(t *testing.T) {
	for file, want := range map[string][]Given{
		"## Colour\nred\n## Size\nlarge\n": {{Question: "Size?", Key: "Size", Answer: "large"}},
		`["red"]`:                          {{Question: "Size?", Answer: "red"}},
	} {
		a, err := parseAnswers([]byte(file))
		must(t, err)
		for _, q := range []string{"Size?", "Who?", "Why?"} {
			_, _, err := a.Ask(t.Context(), Question{Text: q})
			must(t, err)
		}
		diff(t, want, a.Given())
	}
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
	answers, err := parseAnswers([]byte("## argument, or standard input\n2\n## Unasked\nx\n"))
	must(t, err)
	o, _ := r.with(asks(t, "Argument or standard input?", "argument", "standard input"), calls(t, writePlan, somePlan()))
	o.Ask = answers.Ask
	got, err := Run(t.Context(), o)
	must(t, err)
	diff(t, Written, got.Status)
	diff(t, "standard input", got.Asked[0].Answer)
	diff(t, []string{"Unasked"}, answers.Unused())
}

func TestANumberThatIsNoOption(t *testing.T) {
	two := Question{Options: []string{"SQLite", "Postgres"}}
	years := Question{Options: []string{"7", "30 days"}}
	for _, c := range []struct {
		q      Question
		answer string
		misses bool
		meant  string
	}{
		{two, "2", false, "Postgres"}, {two, " 1. ", false, "SQLite"}, {two, "7", true, "7"}, {two, "0", true, "0"},
		{two, "-1", true, "-1"},
		{two, "postgres", false, "Postgres"}, {two, "7 of them", false, "7 of them"}, {two, "", false, ""},
		{years, "7", false, "7"}, {years, "2", false, "30 days"}, {years, "9", true, "9"}, {Question{}, "9", false, "9"},
	} {
		if got := c.q.Misses(c.answer); got != c.misses {
			t.Errorf("%q of %q: %v", c.answer, c.q.Options, got)
		}
		diff(t, c.meant, c.q.resolveAnswer(c.answer))
	}
}

// FuzzAnswers: whatever a file contains, nothing panics, every answer is plain, and the answer to
// one question is given to no other.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"a":"b","c.*":"d"}`), "a question")
	f.Add([]byte("## a\nb\n```\n## c\n```\n## d\n"), "d?")
	f.Add([]byte("{\"\xff\":1}"), "")
	f.Add([]byte(`["a","b"]`), "c")
	f.Add([]byte("- a\n1. b\n"), "c")
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
		for _, g := range a.Given() {
			fits := g.Key == "" || g.Key == plainLine(question) || wordsOf(g.Key) == wordsOf(plainLine(question))
			if pattern, _ := expression(g.Key); !fits && (pattern == nil || !pattern.MatchString(plainLine(question))) {
				t.Errorf("%q was answered with what is for %q", question, g.Key)
			}
		}
		if used := before - len(a.Unused()); used > 3 || used > len(a.Given()) {
			t.Errorf("%d of %d used", used, before)
		}
	})
}
