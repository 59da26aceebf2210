package interview

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Answers are what somebody wrote down before the questions were put. They are used by one interview at a time.
//
// A file of answers is JSON or Markdown. In JSON, an object, each key is a question or a regular expression, and its value the answer. In Markdown, each
// heading of the second level is a question, and what stands below it the answer; what comes before the first one is left aside:
//
//	## Which database is it to be?
//	SQLite, as everywhere else.
//
// A model does not ask in the words that one expects. So a question gets the answer whose key is the same, else the one whose key it holds or that holds
// it, the longest first, in small or capital letters, else, in JSON, the first whose expression matches, else the first that was not used yet. An answer
// may serve several questions, but for the last way. One that is empty is none.
type Answers struct {
	entries []entry
	given   []Given
}

type entry struct {
	key     string // on one line
	text    string
	pattern *regexp.Regexp // nil if the key is none
	used    bool
}

// Given is an answer that was used.
type Given struct {
	Question string
	Key      string
	Answer   string
	Guessed  bool // the key does not fit the question: it was the next one
}

const (
	answersLimit = 1 << 20 // bytes of a file
	patternLimit = 1_000   // bytes of an expression
	entriesLimit = 1_000
)

// ReadAnswers reads a file of answers.
func ReadAnswers(path string) (*Answers, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, answersLimit+1))
	if err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	answers, err := parseAnswers(data)
	if err != nil {
		return nil, fmt.Errorf("read answers: %s: %w", path, err)
	}
	return answers, nil
}

func parseAnswers(data []byte) (*Answers, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch {
	case len(data) > answersLimit:
		return nil, fmt.Errorf("the file has more than %d bytes", answersLimit)
	case !utf8.Valid(data):
		return nil, errors.New("the file is not UTF-8")
	}
	var a Answers
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return &a, a.readJSON(data)
	}
	return &a, a.readMarkdown(string(data))
}

// readJSON keeps the order of the keys, which a map would lose.
func (a *Answers) readJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	bad := func(what string) error {
		line := 1 + bytes.Count(data[:min(int(d.InputOffset()), len(data))], []byte("\n"))
		return fmt.Errorf("line %d: %s", line, what)
	}
	if _, err := d.Token(); err != nil {
		return bad(err.Error())
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return bad(err.Error())
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return bad(err.Error())
		}
		text, ok := value.(string)
		if !ok {
			return bad(fmt.Sprintf("the answer to %q is no text", brief(fmt.Sprint(key))))
		}
		if err := a.add(fmt.Sprint(key), text); err != nil {
			return bad(err.Error())
		}
		a.compile()
	}
	if _, err := d.Token(); err != nil {
		return bad(err.Error())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return bad("something follows the object")
	}
	return nil
}

// compile takes the last key for an expression, where it is one.
func (a *Answers) compile() {
	last := &a.entries[len(a.entries)-1]
	if len(last.key) <= patternLimit && last.key != "" {
		last.pattern, _ = regexp.Compile("(?i)" + last.key) // what is none is a question in plain words
	}
}

func (a *Answers) readMarkdown(text string) error {
	var key string
	var body []string
	inside := false
	keep := func() error {
		if !inside {
			return nil
		}
		return a.add(key, strings.Join(body, "\n"))
	}
	fence := ""
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		fence = fenceAfter(fence, line)
		title, heading := strings.CutPrefix(line, "## ")
		if !heading || fence != "" {
			body = append(body, line)
			continue
		}
		if err := keep(); err != nil {
			return err
		}
		key, body, inside = strings.TrimRight(strings.TrimSpace(title), "# "), nil, true
	}
	if !inside && strings.TrimSpace(text) != "" {
		return errors.New(`there is no question in it: a line that begins with "## " is one, and the answer stands below; JSON is an object of questions and answers`)
	}
	return keep()
}

// fenceAfter is the mark of the code block that is open behind a line, "" if none is: there, a heading is none.
func fenceAfter(open, line string) string {
	line = strings.TrimSpace(line)
	for _, mark := range []string{"```", "~~~"} {
		switch {
		case !strings.HasPrefix(line, mark):
		case open == "":
			return mark
		case open == mark && strings.Trim(line, mark[:1]) == "":
			return ""
		}
	}
	return open
}

func (a *Answers) add(key, text string) error {
	key = plainLine(key)
	if len(a.entries) == entriesLimit {
		return fmt.Errorf("there are more than %d answers", entriesLimit)
	}
	for _, e := range a.entries {
		if e.key == key {
			return fmt.Errorf("the question %q is there twice", brief(key))
		}
	}
	a.entries = append(a.entries, entry{key: key, text: plainText(text)})
	return nil
}

// Ask answers a question, if it can. It is good for Options.Ask.
func (a *Answers) Ask(_ context.Context, q Question) (answer string, ok bool, err error) {
	e, guessed := a.find(plainLine(q.Text)), false
	if e == nil {
		e, guessed = a.next(), true
	}
	if e == nil {
		return "", false, nil
	}
	e.used = true
	a.given = append(a.given, Given{Question: q.Text, Key: e.key, Answer: e.text, Guessed: guessed})
	return e.text, true, nil
}

// find is the answer whose key fits a question best; nil if none does.
func (a *Answers) find(question string) *entry {
	var held, matched *entry
	small := strings.ToLower(question)
	for i := range a.entries {
		e := &a.entries[i]
		key := strings.ToLower(e.key)
		switch {
		case e.text == "" || key == "":
		case e.key == question:
			return e
		case strings.Contains(small, key) || strings.Contains(key, small):
			if held == nil || len(key) > len(held.key) {
				held = e
			}
		case matched == nil && e.pattern != nil && e.pattern.MatchString(question):
			matched = e
		}
	}
	if held != nil {
		return held
	}
	return matched
}

// next is the first answer that was not used yet.
func (a *Answers) next() *entry {
	for i := range a.entries {
		if e := &a.entries[i]; !e.used && e.text != "" {
			return e
		}
	}
	return nil
}

// Given are the answers that were used, in the order of the questions.
func (a *Answers) Given() []Given { return a.given }

// Unused are the questions of the file that nobody asked, in its order.
func (a *Answers) Unused() []string {
	var keys []string
	for _, e := range a.entries {
		if !e.used && e.text != "" {
			keys = append(keys, e.key)
		}
	}
	return keys
}
