// Package deny decides about shell commands before they run. It refuses commands that cannot be
// undone: pushes that overwrite or delete, commands that throw away commits or uncommitted edits,
// sudo, programs that run while they are downloaded, fork bombs, deleting or moving the root, the
// home folder, the workspace or its git history, and writing over disks.
//
// [Check] follows a command as bash would run it: through pipelines, branches, loops, functions,
// programs that start other programs, shells inside shells, and git's aliases. It knows the values
// of variables that the command sets to a literal text, and of those in the environment. A variable
// may have several values; then each is checked. Where that is not enough to tell what a command
// does, the answer is [Undetermined].
//
// It reads no scripts, and no programs in other languages. So it is a guard rail against accidents,
// not a wall: an agent that wants to get past it can write a script and run that. Use a sandbox for
// walls.
package deny

import (
	"fmt"
	"path"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
)

// Decision is what becomes of a command.
type Decision int

// The decisions.
const (
	Allowed Decision = iota
	Refused
	// Undetermined means that only running the command would show what it does.
	Undetermined
)

// Answer is a decision about a command.
type Answer struct {
	Decision Decision
	// Text is why a command is refused, as a sentence for the model, or what could not be determined.
	Text string
}

// Place is where a command would run. Its functions may be nil.
type Place struct {
	Dir  string // the workspace, in which the command would start
	Home string // the user's home folder
	// Variable returns a variable of the environment; default: no variable is known.
	Variable func(name string) (value string, set bool)
	// GitSettings returns the configuration of git in a folder. It is asked at most once per folder,
	// about commands that git does not have, and about pushes and deletions that depend on it.
	GitSettings func(dir string) []Setting
	// IsFolder reports whether a path is a folder.
	IsFolder func(path string) bool
}

// complete replaces folders that are not known by ones that do not exist.
func (p Place) complete() Place {
	if !path.IsAbs(p.Dir) {
		p.Dir = "/\ue010workspace"
	}
	p.Dir = path.Clean(p.Dir)
	if p.Home = path.Clean(p.Home); !path.IsAbs(p.Home) || p.Home == "/" {
		p.Home = "/\ue010home"
	}
	return p
}

// Setting is one setting of git.
type Setting struct{ Key, Value string }

// Limits of what is followed. Beyond them a command is refused or undetermined.
const (
	commandLimit = 128 << 10 // bytes of a command; no system accepts more as one argument
	scriptLimit  = 8         // commands that are text in other commands
	callLimit    = 12        // functions and aliases that call others
	stepLimit    = 5000      // commands, each time they run; beyond that, loops run once
	copyLimit    = 1 << 19   // variables and functions that are copied; beyond that, they are forgotten
	unrollLimit  = 64        // items of a loop that are followed one by one
	readingLimit = 32        // combinations of values of the variables in one command
	valueLimit   = 8         // values of a variable
	sizeLimit    = 4 << 10   // bytes of a value
)

// Check decides about a command.
func Check(command string, at Place) Answer {
	if len(command) > commandLimit {
		return Answer{Refused, whyLong}
	}
	g, st := &guard{place: at.complete(), fetching: map[*shell.Pipeline]bool{}}, newState(at.complete())
	why := g.script(command, st)
	if why == "" {
		why = g.traps(st)
	}
	if *st.copied > copyLimit {
		g.unsure(whyTired)
	}
	switch {
	case why != "":
		return Answer{Refused, why}
	case g.doubt != "":
		return Answer{Undetermined, g.doubt}
	}
	return Answer{}
}

// Reasons to refuse a command.
const (
	whySudo  = "refused: sudo is not allowed; work with the permissions that you have, or report what is missing"
	whyFetch = "refused: do not run downloaded code directly; save it to a file and read it first"
	whyBomb  = "refused: this is a fork bomb"
	whyDisk  = "refused: this overwrites a disk"
	whyRoot  = "refused: this would delete the root, the home folder or the workspace with its git history; delete " +
		"something more specific"
	whyMove = "refused: this would move the root, the home folder or the workspace with its git history away; move " +
		"something more specific"
	whyInside = "refused: .git can be read but not written; use git commands instead"
	whyUnread = "refused: the command does not parse as bash; fix its quotes and brackets, or write it more simply"
	whyLong   = "refused: the command is too long; write it to a file and run that"
	whyPush   = "refused: a forced push overwrites other people's work; push without force"
	whyUnpush = "refused: this push deletes branches or tags that others have; leave it to a person"
	whyReset  = "refused: git reset --hard throws work away; use git restore or git stash for single files"
	whyClean  = "refused: git clean -f deletes files for good; delete what you made by its name"
	whyForce  = "refused: this throws uncommitted edits away; commit them, or keep them with git stash"
	whyMany   = "refused: this throws away the uncommitted edits of more than one file; name each file that you want " +
		"to undo, or keep the edits with git stash"
	whyStash  = "refused: this deletes stashed work for good; leave it in the stash, or restore it with git stash pop"
	whyBranch = "refused: this deletes a branch whose commits may be nowhere else; use git branch -d, which refuses " +
		"to lose commits"
	whyHistory = "refused: this removes commits for good; leave the history as it is, and report what should be removed"
)

// guard checks one command.
type guard struct {
	place Place
	doubt string // the first thing that could not be determined
	quiet int    // more than 0 while doubts do not count

	steps, scripts, calls int
	// fetches counts the downloads, and fetching has those of the commands in words whose output is one.
	fetches  int
	fetching map[*shell.Pipeline]bool
	settings map[string][]Setting // of git, by folder
}

// unsure notes something that cannot be determined.
func (g *guard) unsure(format string, args ...any) {
	if g.doubt == "" && g.quiet == 0 {
		g.doubt = fmt.Sprintf(format, args...)
	}
}

// tired reports whether so many commands were followed that only the rest of the text is looked at.
func (g *guard) tired() bool { return g.steps > stepLimit }

// script checks the text of a command. A shell runs what precedes a syntax error, so that part is
// checked first.
func (g *guard) script(text string, st *state) string {
	if g.scripts++; g.scripts > scriptLimit {
		return whyUnread
	}
	defer func() { g.scripts-- }()
	list, err := shell.ParseBash(text)
	why, _ := g.list(list, st)
	if why == "" && err != nil {
		return whyUnread
	}
	return why
}

// unknown reports whether a part of a text is only known when the command runs.
func unknown(text string) bool { return strings.ContainsAny(text, shell.Marks) }

// show writes a text as the command has it.
func show(text string) string {
	return strings.NewReplacer(
		downloaded, "$(curl …)", string(shell.ParameterMark), "${", string(shell.ParameterEnd), "}",
		string(shell.OutputMark), "$(…)",
	).Replace(text)
}

// downloaded is a mark for something that a command downloads: a variable whose name no command has.
const downloaded = string(shell.ParameterMark) + "\ue011" + string(shell.ParameterEnd)

// isFetched reports whether a text begins with something that a command downloads.
func isFetched(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), downloaded) }
