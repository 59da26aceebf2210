package hooks

import "strings"

// list is commands, one after the other.
type list []pipeline

// pipeline is commands whose output goes from one to the next.
type pipeline []stage

// stage is one part of a pipeline: a simple command, or a group of commands in brackets.
type stage struct {
	words      []word
	redirects  []*redirect
	group      list
	subshell   bool     // the group is in round brackets
	background bool     // it ends with &
	inside     []string // the functions in whose bodies it stands
}

// word is one word of a command, without its quotes.
type word struct {
	// text has what the shell would put in as marks: see parameterMark and outputMark.
	text string
	// outputs are the commands whose output is put in, in the order of their marks.
	outputs []list
	// fallback is what ${name:-…} stands for where the variable has no value.
	fallback string
	quoted   bool // a part of it was in quotes, or behind a backslash
	home     bool // it begins with a ~ that the shell replaces
}

// Marks that stand in words for what only a shell knows.
const (
	parameterMark = '\ue000' // before the name of a variable
	parameterEnd  = '\ue001' // behind it
	outputMark    = '\ue002' // the output of a command

	marks = string(parameterMark) + string(outputMark)
)

// redirect is where input comes from or output goes to.
type redirect struct {
	operator string // <, >, >>, <<, <<<, <>, >&, <&, >|, &>, &>>
	target   word   // of << the delimiter
	body     string // of <<
	tabs     bool   // of <<-: leading tabs are no part of the body
}

// plain reports whether a word is the given text and nothing else: keywords are not quoted.
func (w word) plain(text string) bool { return w.text == text && !w.quoted }

// literal is a word without what the shell puts in, which may be nothing.
func (w word) literal() string {
	if !strings.ContainsAny(w.text, marks) {
		return w.text
	}
	var b strings.Builder
	inside := false
	for _, r := range w.text {
		switch r {
		case parameterMark:
			inside = true
		case parameterEnd:
			inside = false
		case outputMark:
		default:
			if !inside {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}
