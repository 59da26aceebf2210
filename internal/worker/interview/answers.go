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

// Answers are answers that were written before the questions were asked. One interview at a time
// may use them.
//
// A file of answers is JSON or Markdown. In JSON it is an object: each key is a question or a
// regular expression, and its value is the answer. In Markdown, each second-level heading is a
// question, and the text below it the answer; text before the first heading is ignored:
//
//	## Which database should it be?
//	SQLite, as everywhere else.
//
// Such an answer is only for that question: one in the same words, ignoring case and punctuation,
// or, in JSON, one that the expression matches somewhere, ignoring case. The first match is used. A
// key between slashes, as in "/old API/", is an expression, and so is a key with a mark that no
// sentence has: \ | ^ $ * [ { or .+ or (? or a ? within a word. It must be a valid expression then.
// Every other key is a question in plain words, which does not answer another question that happens
// to contain these words.
//
// Answers without a question are used in order, whatever is asked: a JSON list of texts, or a file
// with one answer per line and no heading. An empty answer does not count.
type Answers struct {
	entries []entry
	given   []Given
}

type entry struct {
	key     string // on one line; "" for an answer to whatever is asked next
	words   string // words of the key, normalized for comparison
	text    string
	pattern *regexp.Regexp // nil if the key is not an expression
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
			return fmt.Errorf("the answer to %q is not a string", brief(fmt.Sprint(key)))
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
		return errors.New("unexpected content after the object")
	}
	return nil
}

// readList reads answers without questions.
func (a *Answers) readList(data []byte) error {
	var texts []*string
	if err := json.Unmarshal(data, &texts); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("line %d: an answer in the list is not a string",
				1+bytes.Count(data[:min(int(e.Offset), len(data))], []byte("\n")))
		}
		return fmt.Errorf("expected a list of strings: %w", err)
	}
	for _, text := range texts {
		if text == nil {
			return errors.New("an answer in the list is not a string")
		}
		if err := a.add(entry{text: *text}); err != nil {
			return err
		}
	}
	return nil
}

// expressive matches what distinguishes an expression from a question in plain words, which may end
// with a question mark and contain parentheses.
var expressive = text.LazyRegexp(`[\\|^$*{\[]|\.\+|\(\?|\?\pL`)

// expression returns the expression of a key, or nil if it is a question in plain words.
func expression(key string) (*regexp.Regexp, error) {
	text, slashed := betweenSlashes(key)
	switch {
	case slashed && text == "":
		return nil, fmt.Errorf(
			"the question %q is an expression that matches everything; use a list for answers to any question", brief(key),
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
		return nil, fmt.Errorf("the question %q is not a valid regular expression (%s); escape literal characters with a "+
			"backslash, or use Markdown, where all of them are literal",
			brief(key), why)
	}
	return pattern, nil
}

// betweenSlashes returns the text between the slashes of a key, or else the key itself.
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

// readLines reads a file without questions as answers in order, one per line. A heading of another
// level was probably meant as a question.
func (a *Answers) readLines(text string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			return errors.New(`no questions found: start each question with "## " and write the answer below it; without ` +
				`questions, each line is an answer, in order`)
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

// listMark matches the mark of a list item in Markdown.
var listMark = text.LazyRegexp(`^(?:[-*+]|\d{1,3}[.)])\s+`)

// fenceAfter returns the mark of the code block that is open after a line, or "". In a code block,
// a heading does not count.
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

// keep adds an answer with its question.
func (a *Answers) keep(e entry) error {
	e.words = wordsOf(e.key)
	if e.key == "" && strings.TrimSpace(e.text) != "" {
		return fmt.Errorf("the answer %q has no question", brief(e.text))
	}
	for _, other := range a.entries {
		if other.key == e.key || other.words == e.words && e.words != "" && other.pattern == nil && e.pattern == nil {
			return fmt.Errorf("the question %q occurs twice", brief(e.key))
		}
	}
	return a.add(e)
}

// add adds an answer; one without a key answers whatever is asked next.
func (a *Answers) add(e entry) error {
	if len(a.entries) == entriesLimit {
		return fmt.Errorf("there are more than %d answers", entriesLimit)
	}
	e.text = plainText(e.text)
	a.entries = append(a.entries, e)
	return nil
}

// wordsOf returns the words of a sentence in lower case, without surrounding punctuation.
// Punctuation within a word, or part of it as in C++, stays.
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

// Ask answers a question if it can. It fits Options.Ask.
func (a *Answers) Ask(_ context.Context, q Question) (answer string, ok bool, err error) {
	e := a.find(plainLine(q.Text))
	if e == nil {
		return "", false, nil
	}
	e.used = true
	a.given = append(a.given, Given{Question: q.Text, Key: e.key, Answer: e.text})
	return e.text, true, nil
}

// find returns the answer to a question, or the next of those for any question; nil if there is
// none.
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

// Given returns the answers that were used, in the order of the questions.
func (a *Answers) Given() []Given { return a.given }

// Unused returns the questions of the file that were not asked, in order. For an answer without a
// question it returns the answer.
func (a *Answers) Unused() []string {
	var unused []string
	for _, e := range a.entries {
		if !e.used && e.text != "" {
			unused = append(unused, cmp.Or(e.key, brief(e.text)))
		}
	}
	return unused
}
