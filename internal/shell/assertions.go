package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Script is a shell script.
type Script struct {
	Text    string
	Program bool // it is started as a program or by a shell, so its last status is its own
	Errexit bool // it ends at the first command that fails, although it does not say so
}

// Assertion is a constant word of a script that certainly makes it fail once it is another word.
type Assertion struct {
	From, To int
	Number   bool // it is compared as a number
}

// Assertions returns what scripts that belong together assert: words in comparisons whose failure fails the script, and
// such words among the arguments of a function that compares them. It returns only what certainly runs: nothing after a
// statement that may end a script with success, and nothing inside of branches and of loops over unknown words.
func Assertions(scripts []Script) [][]Assertion {
	a := &asserter{
		bodies: map[string]*syntax.Stmt{}, twice: map[string]bool{}, known: map[string]function{},
		failing: map[string]failure{},
	}
	files := make([]*syntax.File, len(scripts))
	for i, s := range scripts {
		if files[i] = parseFile(s.Text); files[i] != nil {
			a.collectFunctions(files[i])
		}
	}
	found := make([][]Assertion, len(scripts))
	for i, file := range files {
		if file == nil {
			continue
		}
		w := &walker{asserter: a, errexit: scripts[i].Errexit}
		w.statements(file.Stmts, scripts[i].Program)
		found[i] = w.found
	}
	return found
}

func parseFile(text string) (file *syntax.File) {
	defer func() {
		if recover() != nil {
			file = nil
		}
	}()
	text, err := cut(text)
	if err != nil {
		return nil
	}
	for _, variant := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
		if file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(text), ""); err == nil {
			return file
		}
	}
	return nil
}

// asserter knows the functions of the scripts.
type asserter struct {
	bodies map[string]*syntax.Stmt
	twice  map[string]bool // functions that are defined more than once
	known  map[string]function
	// failing says of functions whether they make the script fail.
	failing map[string]failure
}

type failure struct{ fails, ends bool }

// function is what a function asserts.
type function struct {
	compared []comparison
	ends     bool // it ends or fails the script by itself; otherwise its status must be looked at
}

// comparison is a parameter that a function compares.
type comparison struct {
	position        int
	number, pattern bool
}

func (a *asserter) collectFunctions(file *syntax.File) {
	syntax.Walk(file, func(node syntax.Node) bool {
		if f, ok := node.(*syntax.FuncDecl); ok && f.Name != nil {
			name := f.Name.Value
			a.twice[name] = a.bodies[name] != nil
			a.bodies[name] = f.Body
		}
		return true
	})
}

// function returns what a function asserts. One that is defined twice may be either.
func (a *asserter) function(name string) function {
	if known, ok := a.known[name]; ok || a.twice[name] {
		return known
	}
	a.known[name] = function{} // as long as it is not known: it may call itself
	w := &walker{asserter: a, holds: map[string]int{}}
	w.statement(a.bodies[name], true)
	f := function{compared: w.compared, ends: w.ends}
	a.known[name] = f
	return f
}

// walker walks over statements that certainly run.
type walker struct {
	*asserter
	errexit  bool
	found    []Assertion
	holds    map[string]int // in a function: the variables that hold a parameter
	shifted  int
	compared []comparison
	ends     bool
	stopped  bool // what comes now may not run
}

// statements walks over a list. The status of the last statement may be that of the whole list, which then decides.
func (w *walker) statements(list []*syntax.Stmt, decides bool) {
	for i, s := range list {
		if w.stopped {
			return
		}
		w.statement(s, decides && i == len(list)-1)
		w.stopped = w.stopped || w.mayEnd(s)
	}
}

// mayEnd reports whether a statement may end the script, the function or the loop with success.
func (a *asserter) mayEnd(s *syntax.Stmt) (ends bool) {
	syntax.Walk(s, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.FuncDecl, *syntax.CmdSubst:
			return false
		case *syntax.CallExpr:
			switch name := nameOf(n); name {
			case "exit", "return":
				ends = ends || len(n.Args) < 2 || n.Args[1].Lit() == "" || n.Args[1].Lit() == "0"
			case "exec", "continue", "break":
				ends = true
			}
		}
		return true
	})
	return ends
}

// statement walks over one statement. last is true if its status is that of the script or the function.
func (w *walker) statement(s *syntax.Stmt, last bool) {
	if s == nil || s.Background {
		return
	}
	decides := last || w.errexit && !s.Negated
	switch command := s.Cmd.(type) {
	case *syntax.CallExpr:
		w.simple(command)
		w.require(s, true, decides, false)
	case *syntax.DeclClause:
		for _, assign := range command.Args {
			w.assign(assign)
		}
	case *syntax.BinaryCmd:
		w.binary(s, command, last)
	case *syntax.IfClause:
		w.branch(command)
	case *syntax.ForClause:
		loop, ok := command.Loop.(*syntax.WordIter)
		if ok && len(loop.Items) > 0 && !slices.ContainsFunc(loop.Items, isUnknown) {
			w.statements(command.Do, false)
		}
	case *syntax.Block:
		w.statements(command.Stmts, last)
	case *syntax.Subshell:
		if decides {
			w.statements(command.Stmts, true)
		}
	default:
		w.require(s, true, decides, false)
	}
}

func isUnknown(word *syntax.Word) bool { return !isConstant(word) }

// simple notes what a simple command means for those after it.
func (w *walker) simple(call *syntax.CallExpr) {
	switch name := nameOf(call); {
	case name == "" && len(call.Args) == 0:
		for _, assign := range call.Assigns {
			w.assign(assign)
		}
	case name == "shift":
		by := 1
		if len(call.Args) > 1 {
			n, err := strconv.Atoi(call.Args[1].Lit())
			w.stopped = w.stopped || err != nil
			by = n
		}
		w.shifted += by
	case name == "set" && w.holds == nil:
		w.set(call.Args[1:])
	}
}

// set notes whether the script ends at the first command that fails.
func (w *walker) set(args []*syntax.Word) {
	for i, word := range args {
		option := word.Lit()
		switch {
		case option == "--":
			return
		case option == "errexit" && i > 0:
			w.errexit = strings.HasPrefix(args[i-1].Lit(), "-")
		case len(option) > 1 && (option[0] == '-' || option[0] == '+') && strings.Contains(option, "e"):
			w.errexit = option[0] == '-'
		}
	}
}

func (w *walker) assign(assign *syntax.Assign) {
	if w.holds == nil || assign.Name == nil {
		return
	}
	delete(w.holds, assign.Name.Value)
	if position := w.parameter(assign.Value); position > 0 {
		w.holds[assign.Name.Value] = position
	}
}

// binary walks over a list with && or ||. If its first part fails, errexit does not apply.
func (w *walker) binary(s *syntax.Stmt, command *syntax.BinaryCmd, last bool) {
	fails, ends := w.fails([]*syntax.Stmt{command.Y})
	switch {
	case command.Op == syntax.OrStmt && fails:
		w.require(command.X, true, true, ends)
	case command.Op == syntax.AndStmt && fails:
		w.require(command.X, false, true, ends)
	case command.Op == syntax.AndStmt && w.errexit && !last:
		w.require(command.Y, true, true, false)
	case command.Op == syntax.Pipe || command.Op == syntax.PipeAll:
		w.require(s, true, last || w.errexit && !s.Negated, false)
	default:
		w.require(s, true, last, false)
	}
}

func (w *walker) branch(command *syntax.IfClause) {
	if len(command.Cond) == 0 {
		return
	}
	condition := command.Cond[len(command.Cond)-1]
	if fails, ends := w.fails(command.Then); fails {
		w.require(condition, false, true, ends)
	}
	if other := command.Else; other != nil && len(other.Cond) == 0 {
		if fails, ends := w.fails(other.Then); fails {
			w.require(condition, true, true, ends)
		}
	}
}

var (
	failingName  = regexp.MustCompile(`(?i)^(?:die|fail|failed|abort|bail)$`)
	countingName = regexp.MustCompile(`(?i)fail|err|status|bad|^(?:rc|ret|code)$`)
)

// require notes the comparisons of a statement that must be true, or false, so that the script does not fail. decides
// is false if the script goes on either way. ends says that the script fails by itself, not just the function.
func (w *walker) require(s *syntax.Stmt, want, decides, ends bool) {
	if s == nil || s.Background {
		return
	}
	if s.Negated {
		want = !want
	}
	switch command := s.Cmd.(type) {
	case *syntax.CallExpr:
		w.requireCall(command, want, decides, ends)
	case *syntax.TestClause:
		if test, ok := command.X.(*syntax.BinaryTest); ok && decides {
			w.compare(test.X, test.Op.String(), test.Y, want, ends)
		}
	case *syntax.BinaryCmd:
		switch pipe := command.Op == syntax.Pipe || command.Op == syntax.PipeAll; {
		case pipe:
			w.require(command.Y, want, decides, ends)
		case command.Op == syntax.AndStmt && want, command.Op == syntax.OrStmt && !want:
			w.require(command.X, want, decides, ends)
			w.require(command.Y, want, decides, ends)
		}
	}
}

func (w *walker) requireCall(call *syntax.CallExpr, want, decides, ends bool) {
	name, args := nameOf(call), call.Args
	switch {
	case name == "[" && len(args) == 5 && decides, name == "test" && len(args) == 4 && decides:
		w.compare(args[1], args[2].Lit(), args[3], want, ends)
	case strings.HasSuffix(name, "grep") && want && decides:
		w.pattern(args[1:], ends)
	case w.bodies[name] != nil:
		f := w.function(name)
		if !f.ends && !(want && decides) {
			return
		}
		for _, c := range f.compared {
			if c.position < len(args) {
				w.expect(args[c.position], c, ends || f.ends)
			}
		}
	}
}

// compare notes the constant side of a comparison.
func (w *walker) compare(left syntax.TestExpr, operator string, right syntax.TestExpr, want, ends bool) {
	one, ok := left.(*syntax.Word)
	two, also := right.(*syntax.Word)
	equal := slices.Contains([]string{"=", "==", "-eq"}, operator)
	if !ok || !also || equal != want || !equal && operator != "!=" && operator != "-ne" {
		return
	}
	kind := comparison{number: operator == "-eq" || operator == "-ne"}
	for _, sides := range [][2]*syntax.Word{{one, two}, {two, one}} {
		if !isConstant(sides[0]) {
			w.expect(sides[1], kind, ends)
		}
	}
}

// pattern notes the pattern that grep looks for.
func (w *walker) pattern(args []*syntax.Word, ends bool) {
	for _, word := range args {
		option := word.Lit()
		if !strings.HasPrefix(option, "-") {
			w.expect(word, comparison{pattern: true}, ends)
			return
		}
		if strings.HasPrefix(option, "--") || strings.ContainsAny(option, "vcefL") {
			return
		}
	}
}

// expect notes a word that must be as it is: a constant, or a parameter of the function.
func (w *walker) expect(word *syntax.Word, kind comparison, ends bool) {
	if kind.position = w.parameter(word); kind.position > 0 {
		if !slices.Contains(w.compared, kind) {
			w.compared = append(w.compared, kind)
		}
		w.ends = w.ends || ends
		return
	}
	// An alternative may match instead.
	if w.holds == nil && isConstant(word) && !(kind.pattern && strings.Contains(wordText(word), "|")) {
		w.found = append(w.found, Assertion{offset(word.Pos()), offset(word.End()), kind.number})
	}
}

// parameter returns which parameter of the function a word is; 0 if it is none.
func (w *walker) parameter(word *syntax.Word) int {
	name := variableOf(word)
	if w.holds == nil || name == "" {
		return 0
	}
	if n, err := strconv.Atoi(name); err == nil && n > 0 {
		return n + w.shifted
	}
	return w.holds[name]
}
