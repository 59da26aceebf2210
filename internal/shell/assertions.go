package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Script is a shell script. Errexit is true if it ends at the first command that fails, although it does not say so.
type Script struct {
	Text    string
	Errexit bool
}

// Assertion is a constant word of a script that certainly makes it fail once it is another word.
type Assertion struct {
	From, To, Line int
	Number         bool // it is compared as a number
}

// Assertions returns what scripts that belong together assert: words in comparisons whose failure fails the script, and
// such words among the arguments of a function that compares them.
func Assertions(scripts []Script) [][]Assertion {
	a := &asserter{
		bodies: map[string]*syntax.Stmt{}, known: map[string]function{}, failing: map[string]failure{},
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
		w := &walker{asserter: a, errexit: scripts[i].Errexit || errexitLine.MatchString(scripts[i].Text)}
		w.statements(file.Stmts, true)
		found[i] = w.found
	}
	return found
}

// Mentioned returns the words of a script that consist of letters alone, such as names and patterns of files.
func Mentioned(text string) (words []string) {
	file := parseFile(text)
	if file == nil {
		return nil
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		if word, ok := node.(*syntax.Word); ok {
			if name := word.Lit(); name != "" {
				words = append(words, name)
			}
		}
		return true
	})
	return words
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

// errexitLine matches a script whose first line asks for errexit.
var errexitLine = regexp.MustCompile(`\A#!\S*sh\s+-\w*e`)

// asserter knows the functions of the scripts.
type asserter struct {
	bodies map[string]*syntax.Stmt
	known  map[string]function
	// failing says of functions whether they make the script fail.
	failing map[string]failure
}

type failure struct{ fails, ends bool }

// function is what a function asserts.
type function struct {
	compared []int // positions of the parameters that it compares
	ends     bool  // it ends or fails the script by itself; otherwise its status must be looked at
}

func (a *asserter) collectFunctions(file *syntax.File) {
	syntax.Walk(file, func(node syntax.Node) bool {
		if f, ok := node.(*syntax.FuncDecl); ok && f.Name != nil {
			a.bodies[f.Name.Value] = f.Body
		}
		return true
	})
}

func (a *asserter) function(name string) function {
	if known, ok := a.known[name]; ok {
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
	compared []int
	ends     bool
}

// statements walks over a list. The status of the last statement may be that of the whole list, which then decides.
func (w *walker) statements(list []*syntax.Stmt, decides bool) {
	for i, s := range list {
		w.statement(s, w.errexit || decides && i == len(list)-1)
		if call, ok := s.Cmd.(*syntax.CallExpr); ok && slices.Contains([]string{"exit", "exec", "return"}, nameOf(call)) {
			return
		}
	}
}

// statement walks over one statement. decides is true if the script fails when the statement does.
func (w *walker) statement(s *syntax.Stmt, decides bool) {
	if s == nil || s.Background {
		return
	}
	switch command := s.Cmd.(type) {
	case *syntax.CallExpr:
		w.simple(command)
		w.require(s, true, decides, false)
	case *syntax.DeclClause:
		for _, assign := range command.Args {
			w.assign(assign)
		}
	case *syntax.BinaryCmd:
		w.binary(s, command, decides)
	case *syntax.IfClause:
		w.branch(command)
	case *syntax.ForClause:
		w.statements(command.Do, false)
	case *syntax.WhileClause:
		w.statements(command.Do, false)
	case *syntax.Block:
		w.statements(command.Stmts, decides)
	case *syntax.Subshell:
		if decides {
			w.statements(command.Stmts, true)
		}
	default:
		w.require(s, true, decides, false)
	}
}

// simple notes what a simple command means for those after it.
func (w *walker) simple(call *syntax.CallExpr) {
	switch name := nameOf(call); {
	case name == "" && len(call.Args) == 0:
		for _, assign := range call.Assigns {
			w.assign(assign)
		}
	case name == "shift":
		w.shifted++
	case name == "set" && w.holds == nil:
		for _, word := range call.Args[1:] {
			option := word.Lit()
			w.errexit = w.errexit || strings.HasPrefix(option, "-") && strings.Contains(option, "e") || option == "errexit"
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

func (w *walker) binary(s *syntax.Stmt, command *syntax.BinaryCmd, decides bool) {
	fails, ends := w.fails(command.Y)
	switch {
	case command.Op == syntax.OrStmt && fails:
		w.require(command.X, true, true, ends)
	case command.Op == syntax.AndStmt && fails:
		w.require(command.X, false, true, ends)
	default:
		w.require(s, true, decides, false)
	}
}

func (w *walker) branch(command *syntax.IfClause) {
	if len(command.Cond) == 0 {
		return
	}
	condition := command.Cond[len(command.Cond)-1]
	if fails, ends := w.failsOne(command.Then); fails {
		w.require(condition, false, true, ends)
	}
	if other := command.Else; other != nil && len(other.Cond) == 0 {
		if fails, ends := w.failsOne(other.Then); fails {
			w.require(condition, true, true, ends)
		}
	}
}

func (a *asserter) failsOne(list []*syntax.Stmt) (fails, ends bool) {
	for _, s := range list {
		one, hard := a.fails(s)
		fails, ends = fails || one, ends || hard
	}
	return fails, ends
}

var failingName = regexp.MustCompile(`(?i)fail|die|abort|error|bail|wrong|bad`)

// fails reports whether a statement makes the script fail. ends is false if it only makes its function fail.
func (a *asserter) fails(s *syntax.Stmt) (fails, ends bool) {
	syntax.Walk(s, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.FuncDecl, *syntax.CmdSubst:
			return false
		case *syntax.Assign:
			value := ""
			if n.Value != nil {
				value = n.Value.Lit()
			}
			counts := value == "1" || value == "false" || n.Value != nil && isArithmetic(n.Value)
			fails, ends = fails || counts, ends || counts
		case *syntax.ArithmCmd, *syntax.LetClause:
			fails, ends = true, true
		case *syntax.CallExpr:
			one, hard := a.callFails(n)
			fails, ends = fails || one, ends || hard
		}
		return true
	})
	return fails, ends
}

func isArithmetic(word *syntax.Word) bool {
	_, ok := word.Parts[0].(*syntax.ArithmExp)
	return ok && len(word.Parts) == 1
}

func (a *asserter) callFails(call *syntax.CallExpr) (fails, ends bool) {
	name := nameOf(call)
	switch name {
	case "exit", "return":
		fails = len(call.Args) < 2 || call.Args[1].Lit() != "0"
		return fails, fails && name == "exit"
	case "false":
		return true, false
	}
	body, defined := a.bodies[name]
	if !defined {
		return failingName.MatchString(name), failingName.MatchString(name)
	}
	known, ok := a.failing[name]
	if !ok {
		a.failing[name] = failure{} // as long as it is not known: it may call itself
		known.fails, known.ends = a.fails(body)
		a.failing[name] = known
	}
	return known.fails, known.ends
}

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
		for _, position := range f.compared {
			if position < len(args) {
				w.expect(args[position], false, ends || f.ends)
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
	number := operator == "-eq" || operator == "-ne"
	for _, sides := range [][2]*syntax.Word{{one, two}, {two, one}} {
		if !isConstant(sides[0]) {
			w.expect(sides[1], number, ends)
		}
	}
}

// pattern notes the pattern that grep looks for.
func (w *walker) pattern(args []*syntax.Word, ends bool) {
	for _, word := range args {
		option := word.Lit()
		if !strings.HasPrefix(option, "-") {
			if !strings.Contains(wordText(word), "|") {
				w.expect(word, false, ends)
			}
			return
		}
		if strings.HasPrefix(option, "--") || strings.ContainsAny(option, "vcefL") {
			return
		}
	}
}

// expect notes a word that must be as it is: a constant, or a parameter of the function.
func (w *walker) expect(word *syntax.Word, number, ends bool) {
	if position := w.parameter(word); position > 0 {
		if !slices.Contains(w.compared, position) {
			w.compared = append(w.compared, position)
		}
		w.ends = w.ends || ends
		return
	}
	if w.holds == nil && isConstant(word) {
		w.found = append(w.found, Assertion{offset(word.Pos()), offset(word.End()), int(word.Pos().Line()), number})
	}
}

// parameter returns which parameter of the function a word is; 0 if it is none.
func (w *walker) parameter(word *syntax.Word) int {
	if w.holds == nil || word == nil || len(word.Parts) != 1 {
		return 0
	}
	part := word.Parts[0]
	if quoted, ok := part.(*syntax.DblQuoted); ok && len(quoted.Parts) == 1 {
		part = quoted.Parts[0]
	}
	expansion, ok := part.(*syntax.ParamExp)
	if !ok || expansion.Param == nil || expansion.Exp != nil || expansion.Length || expansion.Slice != nil {
		return 0
	}
	if n, err := strconv.Atoi(expansion.Param.Value); err == nil && n > 0 {
		return n + w.shifted
	}
	return w.holds[expansion.Param.Value]
}

// isConstant reports whether a word is the same in every run, and not a pattern.
func isConstant(word *syntax.Word) bool {
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "*?[~") {
				return false
			}
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				if _, ok := inner.(*syntax.Lit); !ok {
					return false
				}
			}
		default:
			return false
		}
	}
	return len(word.Parts) > 0
}

// wordText returns a constant word without its quotes.
func wordText(word *syntax.Word) string {
	var b strings.Builder
	syntax.Walk(word, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Lit:
			b.WriteString(n.Value)
		case *syntax.SglQuoted:
			b.WriteString(n.Value)
		}
		return true
	})
	return b.String()
}

func nameOf(call *syntax.CallExpr) string {
	if len(call.Args) == 0 {
		return ""
	}
	return call.Args[0].Lit()
}
