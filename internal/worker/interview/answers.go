package interview

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/text"
)

// Answers are what somebody wrote down before the questions were put. They are used by one interview at a time.
//
// A file of answers is JSON or Markdown. In JSON, an object, each key is a question or a regular expression, and its value the answer. In Markdown, each
// heading of the second level is a question, and what stands below it the answer; what comes before the first one is left aside:
//
//	## Which database is it to be?
//	SQLite, as everywhere else.
//
// Such an answer is for that question alone: one in the same words, small or capital letters and punctuation aside, or, in JSON, one that the expression
// matches somewhere, small or capital letters aside. The first that fits is taken. A key between slashes, as in "/old API/", is an expression, and so is one
// with a mark in it that no sentence has: \ | ^ $ * [ { or .+ or (? or a ? within a word. It has to be a valid one then. Every other key is a question in plain
// words, which answers no other question that happens to have these words in it.
//
// Answers without a question are taken in their order, whatever is asked: a JSON list of texts, or a file with a line each and no heading. An answer that is
// empty is none.
type Answers struct {
	entries []entry
	given   []Given
}

type entry struct {
	key     string // on one line; "" with an answer to whatever is asked next
	words   string // of the key, as they are compared
	text    string
	pattern *regexp.Regexp // nil if the key is none
	used    bool
}

// Given is an answer that was used.
type Given struct {
	Question string
	Key      string // "" if it was the next one in order
	Answer   string
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
	text := bytes.TrimSpace(data)
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		return &a, a.readObject(data)
	case bytes.HasPrefix(text, []byte("[")) && !bytes.Contains(text, []byte("\n## ")):
		return &a, a.readList(data)
	}
	return &a, a.readMarkdown(string(data))
}

// readObject keeps the order of the keys, which a map would lose.
func (a *Answers) readObject(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if err := a.readPairs(d); err != nil {
		line := 1 + bytes.Count(data[:min(int(d.InputOffset()), len(data))], []byte("\n"))
		return fmt.Errorf("line %d: %w", line, err)
	}
	return nil
}

func (a *Answers) readPairs(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return err
		}
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("the answer to %q is no text", brief(fmt.Sprint(key)))
		}
		question := plainLine(fmt.Sprint(key))
		pattern, err := expression(question)
		if err == nil {
			err = a.keep(entry{key: question, text: text, pattern: pattern})
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	return nil
}

// readList takes answers without questions.
func (a *Answers) readList(data []byte) error {
	var texts []*string
	if err := json.Unmarshal(data, &texts); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("line %d: an answer in the list is no text",
				1+bytes.Count(data[:min(int(e.Offset), len(data))], []byte("\n")))
		}
		return fmt.Errorf("a list of texts is wanted: %w", err)
	}
	for _, text := range texts {
		if text == nil {
			return errors.New("an answer in the list is no text")
		}
		if err := a.add(entry{text: *text}); err != nil {
			return err
		}
	}
	return nil
}

// expressive finds what tells an expression from a question in plain words, which may end with a question mark and have brackets in it.
var expressive = text.LazyRegexp(`[\\|^$*{\[]|\.\+|\(\?|\?\pL`)

// expression is the one that a key is meant as; nil if it is a question in plain words.
func expression(key string) (*regexp.Regexp, error) {
	text, slashed := betweenSlashes(key)
	switch {
	case slashed && text == "":
		return nil, fmt.Errorf(
			"the question %q is an expression that matches everything; answers to whatever is asked are a list", brief(key),
		)
	case slashed && len(text) > patternLimit:
		return nil, fmt.Errorf("the expression %q has more than %d bytes", brief(key), patternLimit)
	case !slashed && (len(text) > patternLimit || !expressive().MatchString(text)):
		return nil, nil
	}
	pattern, err := regexp.Compile("(?i)" + text)
	if err != nil {
		why := err.Error()
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			why = e.Code.String()
		}
		return nil, fmt.Errorf("the question %q is no regular expression (%s); a backslash goes before a character that "+
			"means itself, and below ## in Markdown all of them do",
			brief(key), why)
	}
	return pattern, nil
}

// betweenSlashes is what stands between the slashes of a key, or else the key itself.
func betweenSlashes(key string) (text string, slashed bool) {
	if len(key) < 2 || key[0] != '/' || key[len(key)-1] != '/' {
		return key, false
	}
	return key[1 : len(key)-1], true
}

func (a *Answers) readMarkdown(text string) error {
	var key string
	var body []string
	inside := false
	finish := func() error {
		if !inside {
			return nil
		}
		return a.keep(entry{key: plainLine(key), text: strings.Join(body, "\n")})
	}
	fence := ""
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		fence = fenceAfter(fence, line)
		title, heading := strings.CutPrefix(line, "## ")
		if !heading || fence != "" {
			body = append(body, line)
			continue
		}
		if err := finish(); err != nil {
			return err
		}
		key, body, inside = strings.TrimRight(strings.TrimSpace(title), "# "), nil, true
	}
	if !inside {
		return a.readLines(text)
	}
	return finish()
}

// readLines takes a file without a question for answers in order, one a line. A heading of another level is rather a question that was meant.
func (a *Answers) readLines(text string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			return errors.New(`there is no question in it: a line that begins with "## " is one, and the answer stands below; without any, each line is an answer, in the order of the questions`)
		}
		if line = listMark().ReplaceAllString(line, ""); line == "" {
			continue
		}
		if err := a.add(entry{text: line}); err != nil {
			return err
		}
	}
	return nil
}

// listMark is what stands before an item of a list in Markdown.
var listMark = text.LazyRegexp(`^(?:[-*+]|\d{1,3}[.)])\s+`)

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

// keep takes an answer with its question.
func (a *Answers) keep(e entry) error {
	e.words = wordsOf(e.key)
	if e.key == "" && strings.TrimSpace(e.text) != "" {
		return fmt.Errorf("the answer %q stands below no question", brief(e.text))
	}
	for _, other := range a.entries {
		if other.key == e.key || other.words == e.words && e.words != "" && other.pattern == nil && e.pattern == nil {
			return fmt.Errorf("the question %q is there twice", brief(e.key))
		}
	}
	return a.add(e)
}

// add takes an answer; one without a key is to whatever is asked next.
func (a *Answers) add(e entry) error {
	if len(a.entries) == entriesLimit {
		return fmt.Errorf("there are more than %d answers", entriesLimit)
	}
	e.text = plainText(e.text)
	a.entries = append(a.entries, e)
	return nil
}

// wordsOf are the words of a sentence in small letters, without what stands around them. What is within a word, or belongs to it as in C++, stays.
func wordsOf(sentence string) string {
	words := strings.Fields(strings.ToLower(sentence))
	for i, word := range words {
		words[i] = strings.TrimRight(strings.TrimLeft(word, "\"'`([{“‘«„¿¡"), "\"'`)]}”’».,;:!?…")
		if strings.Trim(words[i], "-–—") == "" {
			words[i] = ""
		}
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// Ask answers a question, if it can. It is good for Options.Ask.
func (a *Answers) Ask(_ context.Context, q Question) (answer string, ok bool, err error) {
	e := a.find(plainLine(q.Text))
	if e == nil {
		return "", false, nil
	}
	e.used = true
	a.given = append(a.given, Given{Question: q.Text, Key: e.key, Answer: e.text})
	return e.text, true, nil
}

// find is the answer that is meant for a question, or the next of those that are for any; nil if there is none.
func (a *Answers) find(question string) *entry {
	var same, matched, next *entry
	words := wordsOf(question)
	for i := range a.entries {
		e := &a.entries[i]
		switch {
		case e.text == "":
		case e.key == "":
			if next == nil && !e.used {
				next = e
			}
		case e.key == question:
			return e
		case same == nil && e.words != "" && e.words == words:
			same = e
		case matched == nil && e.pattern != nil && e.pattern.MatchString(question):
			matched = e
		}
	}
	return cmp.Or(same, matched, next)
}

// Given are the answers that were used, in the order of the questions.
func (a *Answers) Given() []Given { return a.given }

// Unused are the questions of the file that nobody asked, in its order. Of an answer without a question it is the answer itself.
func (a *Answers) Unused() []string {
	var unused []string
	for _, e := range a.entries {
		if !e.used && e.text != "" {
			unused = append(unused, cmp.Or(e.key, brief(e.text)))
		}
	}
	return unused
}
