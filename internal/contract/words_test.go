package contract

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// banned is a word or phrase that people and models must not read, and what to write instead.
type banned struct {
	pattern string // a regular expression; spaces also match line breaks
	say     string
}

// bannedWords lists what the texts used to say and must not say again.
var bannedWords = []banned{
	// Name the actor.
	{`somebody`, "name the actor"},
	{`nobody`, "name the actor, or no one"},
	{`whoever`, "name the actor"},
	{`(?:is|are|was|were|be) told`, "learns, sees, or a warning"},
	{`said aloud`, "a warning"},
	{`(?:is|are|was|were) wanted`, "expected, or choose one of"},
	{`as one would`, "as you would"},

	// One word, one meaning.
	{`greens?|reds?`, "passes, fails"},
	{`caps?|capped|ceilings?`, "limit"},
	{`reckon(?:s|ed|ing)?`, "estimate"},
	{`mend(?:s|ed|ing)?`, "fix"},
	{`aside`, "stash"},
	{`(?:bring|brings|brought|put|puts) (?:\w+ )?back`, "restore"},
	{`(?:bring|brings|brought) (?:\w+ ){0,3}home`, "merge"},
	{`(?:go|goes|going|gone|went) on`, "continue, or running"},
	{`under ?way`, "current, or running"},
	{`(?:given|gives|gave|giving) (?:\w+ )?up`, "abandon"},
	{`(?:makes?|making|made) way`, "stash"},
	{`not known`, "unknown"},
	{`mailbox(?:es)?`, "inbox"},
	{`(?:sends?|sent|reads?|delivers?|delivered) (?:an? |the )?letters?`, "message"},
	{`(?:the|its|their) books?|booked`, "log, or account"},
	{`shel(?:f|ve|ves|ved)`, "stash"},
	{`length of time`, "duration"},

	// No private metaphors.
	{`stands?`, "is, or expands to"},
	{`(?:lies|lying) (?:in|on|at|there|beside|below|outside|next)`, "is in, is on"},
	{`(?:borne|bears?|bore) (?:\w+ )?out`, "proven, or refused because"},
	{`nothing means`, "default:"},
	{`complain(?:s|ed|ing|t|ts)?`, "report, or no problems found"},
	{`(?:falls?|fell) silent`, "replied without calling a tool"},
	{`heed(?:s|ed|ing)?`, "follow, or support"},
	{`rests (?:for|until)`, "is not used for"},
	{`comes? with a later version`, "is not available yet"},
	{`(?:tells?|told) (?:its|the) version`, "report its version"},
	{`(?:key|value|text|list|map|number|name)s? (?:is|are|was|were) given`, "set, or the value is a list"},
	{`give (?:one of|true|text|a whole number|a number|a length)`, "choose one of, or use"},
	{`(?:in|first in) line (?:\d|%d)`, "on line"},

	// American English.
	{`colours?|coloured|behaviours?|licences?|favours?|favourites?|honours?|cancelled|labelled|whilst`,
		"the American spelling"},
	{`white spaces?`, "whitespace"},
	{`not (?:\w+ ){0,2}any more`, "no longer"},
}

// wordException allows one banned text in one file.
type wordException struct {
	file string
	text string // what the pattern matched, in lower case
	why  string
}

var wordExceptions = []wordException{
	{"docs/contract.md", "go on", "an example of what agents write"},
	{"sandbox/bwrap.go", "cap", "a flag of bwrap"},
	{"examine.go", "red", "a value in logs"},
	{"examine.go", "green", "a value in logs"},
	{"plan/taskmaster.go", "cancelled", "a status of Task Master"},
	{"promise/assertion.go", "aside", "a word of agents"},
	{"promise/assertion.go", "nobody", "a word of agents"},
	{"runlog/inbox.go", "mailbox", "the name of a folder in the state of a run"},
	{"sandbox/docker.go", "cap", "a flag of Docker"},
	{"task.go", "mended", "a field in logs"},
}

// TestPlainWords checks every text that people or models read: string literals, prompts and pages.
// Comments are not checked.
func TestPlainWords(t *testing.T) {
	used := make([]bool, len(wordExceptions))
	for _, text := range shownTexts(t) {
		for _, f := range findBanned(text.words) {
			i := slices.IndexFunc(wordExceptions, func(e wordException) bool {
				return e.file == text.file && e.text == strings.ToLower(f.found)
			})
			if i >= 0 {
				used[i] = true
				continue
			}
			t.Errorf("%s:%d: %q; say: %s", text.file, text.line+f.line, f.found, f.say)
		}
	}
	for i, e := range wordExceptions {
		if !used[i] {
			t.Errorf("remove the exception for %q in %s: nothing uses it", e.text, e.file)
		}
	}
}

func TestBannedWordsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"ralph resume lets it go on":              "go on",
		"the check is green":                      "green",
		"the cap of 2 iterations is reached":      "cap",
		"one of a, b is wanted":                   "is wanted",
		"the run under\nway":                      "under\nway",
		"Nobody answers":                          "Nobody",
		"work_set_aside, iter_cap, redo, capture": "",
		"letters, digits and dots":                "",
		"a task is abandoned, and Ralph restores": "",
	} {
		got := ""
		if found := findBanned(text); len(found) > 0 {
			got = found[0].found
		}
		if got != want {
			t.Errorf("found %q in %q, want %q", got, text, want)
		}
	}
}

type foundWord struct {
	found string
	line  int // counted from 0
	say   string
}

var bannedPatterns = func() []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, b := range bannedWords {
		all = append(all, regexp.MustCompile(`(?i)\b(?:`+strings.ReplaceAll(b.pattern, " ", `\s+`)+`)\b`))
	}
	return all
}()

func findBanned(text string) []foundWord {
	var found []foundWord
	for i, pattern := range bannedPatterns {
		for _, at := range pattern.FindAllStringIndex(text, -1) {
			found = append(found, foundWord{text[at[0]:at[1]], strings.Count(text[:at[0]], "\n"), bannedWords[i].say})
		}
	}
	return found
}

// shownText is a text and where it begins.
type shownText struct {
	file  string
	line  int
	words string
}

func shownTexts(t *testing.T) []shownText {
	t.Helper()
	var all []shownText
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return fmt.Errorf("find texts: %w", err)
		}
		name = filepath.ToSlash(name)
		switch base := entry.Name(); {
		case entry.IsDir() && name != "." && (base == "testdata" || base == "changelog" || strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(name, "_test.go"):
			return nil
		case strings.HasSuffix(name, ".md"):
			all = append(all, shownText{name, 1, readFile(t, name)})
		case strings.HasSuffix(name, ".go"):
			all = append(all, literalsOf(t, name)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 1000 {
		t.Fatalf("found only %d texts", len(all))
	}
	return all
}

// literalsOf returns the string literals of a file. Literals that are added up are one text.
func literalsOf(t *testing.T, name string) []shownText {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, readFile(t, name), 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []shownText
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case ast.Expr:
			words, ok := constantText(node)
			if ok {
				all = append(all, shownText{name, set.Position(node.Pos()).Line, words})
			}
			return !ok
		}
		return true
	})
	return all
}

// constantText returns the text of a literal or a sum of literals.
func constantText(node ast.Expr) (string, bool) {
	switch node := node.(type) {
	case *ast.BasicLit:
		words, err := strconv.Unquote(node.Value)
		return words, node.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, leftOK := constantText(node.X)
		right, rightOK := constantText(node.Y)
		return left + right, node.Op == token.ADD && leftOK && rightOK
	}
	return "", false
}
