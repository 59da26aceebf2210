// Package shell parses shell commands without running them.
//
// It presents the syntax tree of mvdan.cc/sh as lists of pipelines of commands, whose words are
// resolved as far as they are literal. What only a running shell knows stays in a word as a mark:
// the value of a variable ([ParameterMark]), or the output of a command ([OutputMark]), which the
// word also contains as commands. Nothing is left out: everything that a shell would run for a
// command is in [Command.Body] or in the outputs of one of its words.
package shell

import (
	"cmp"
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// List is a sequence of commands.
type List []Pipeline

// Pipeline is commands connected by pipes.
type Pipeline []Command

// Command is a simple command, or a compound one with other commands in its body.
type Command struct {
	// Before is the operator between this command and the one before it: ";", "&", "&&", "||" or "|";
	// "" for the first.
	Before string
	// Assigns are the NAME=value words before a simple command.
	Assigns []Word
	// Words are the program and its arguments. Only a simple command has them.
	Words     []Word
	Redirects []Redirect
	// Keyword names a compound command: "(", "{", "((", "[[", "if", "while", "for", "case", "let" or
	// "function".
	Keyword string
	// Operands are words of a compound command that run nothing: the items of for, the patterns of
	// case, a function's name.
	Operands []Word
	// Variable is the variable that for or select sets to each of its operands.
	Variable string
	// Body is the commands of a compound command, its conditions first.
	Body List
	// Branches are the parts of the body of if and case, of which a shell runs one at most.
	Branches []Branch
	// Background is true for commands that end with &, Negated for those after a !.
	Background, Negated bool
	// Functions names the functions that contain this command.
	Functions []string
}

// Branch is one alternative of if or case. The items of case have no condition.
type Branch struct {
	Condition, Then List
	Otherwise       bool // runs if no branch before it does: else, or *)
}

// Outputs returns the commands that a shell runs to expand the words of a command.
func (c Command) Outputs() (all []List) {
	for _, words := range [][]Word{c.Assigns, c.Words, c.Operands} {
		for _, w := range words {
			all = append(all, w.Outputs...)
		}
	}
	for _, r := range c.Redirects {
		all = append(all, r.Target.Outputs...)
		all = append(all, r.Body.Outputs...)
	}
	return all
}

// Redirect is one redirection of input or output.
type Redirect struct {
	Operator string // as written; << also for <<-
	Target   Word   // for <<, the delimiter
	Body     Word   // for <<, the document; for <<<, the same as Target
}

// Marks in a word's text for what only a running shell knows.
const (
	ParameterMark = '\ue000' // before the name of a variable
	ParameterEnd  = '\ue001' // after it
	OutputMark    = '\ue002' // the output of a command

	Marks = string(ParameterMark) + string(OutputMark)
)

const (
	// depthLimit is how deep commands may be nested.
	depthLimit = 200
	// openLimit limits the brackets in a text: the parser uses stack for each that may be open.
	openLimit = 1 << 14
	// wordLimit limits the words of a text, which brace expansion multiplies.
	wordLimit = 1 << 16
)

var (
	errDeep   = errors.New("too deeply nested")
	errCoproc = errors.New("coproc before a simple command")
	errMany   = errors.New("too many words")
	errBroken = errors.New("incomplete command")
)

// Parse parses a command as sh does. If that fails, it tries bash. It returns the commands before
// an error along with it.
func Parse(text string) (List, error) {
	if list, err := parse(text, syntax.LangPOSIX); err == nil {
		return list, nil
	}
	return parse(text, syntax.LangBash)
}

// ParseBash parses a command as bash does. It returns the commands before an error along with it.
func ParseBash(text string) (List, error) { return parse(text, syntax.LangBash) }

func parse(text string, variant syntax.LangVariant) (list List, err error) {
	// The parser also returns incomplete statements with a syntax error, so any part of the tree may
	// be missing.
	defer func() {
		if recover() != nil {
			err = cmp.Or(err, errBroken)
		}
	}()
	text, err = cut(text)
	// The text of a here-document comes after the statement that it belongs to, so parse everything
	// before converting any statement.
	var stmts []*syntax.Stmt
	for stmt, wrong := range syntax.NewParser(syntax.Variant(variant)).StmtsSeq(strings.NewReader(text)) {
		err = cmp.Or(err, wrong)
		if wrong == nil {
			stmts = append(stmts, stmt) // even after a syntax error: the parser cannot be stopped there
		}
	}
	r := reader{variant: variant}
	for _, stmt := range stmts {
		list = r.stmts(list, []*syntax.Stmt{stmt})
		err = cmp.Or(err, r.err)
	}
	return list, err
}

// cut truncates a text before it has more brackets than the parser can handle.
func cut(text string) (string, error) {
	open := 0
	for i := range len(text) {
		if strings.IndexByte("([{", text[i]) < 0 {
			continue
		}
		if open++; open > openLimit {
			return text[:i], errDeep
		}
	}
	return text, nil
}

// Loose splits a text that cannot be parsed: into commands at its operators, and those into words
// without quotes.
func Loose(text string) (commands [][]string) {
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune("\n;&|()`", c) }) {
		words := strings.Fields(
			strings.NewReplacer("'", "", `"`, "", `\`, "", "$", " ", "<", " < ", ">", " > ").Replace(part),
		)
		if len(words) > 0 {
			commands = append(commands, words)
		}
	}
	return commands
}

// Quote quotes a text as one word for the shell.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
