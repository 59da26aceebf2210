package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// reader converts the parser's tree into commands.
type reader struct {
	variant   syntax.LangVariant
	functions []string // the functions that contain the current command
	depth     int
	words     int
	err       error
}

// stmts appends statements to a list.
func (r *reader) stmts(list List, stmts []*syntax.Stmt) List {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > depthLimit {
		r.err = errDeep
		return list
	}
	for _, stmt := range stmts {
		before := ""
		if len(list) > 0 {
			before = ";"
			if last := list[len(list)-1]; last[len(last)-1].Background {
				before = "&"
			}
		}
		list = r.stmt(list, stmt, before)
	}
	return list
}

// stmt appends the pipelines of one statement.
func (r *reader) stmt(list List, stmt *syntax.Stmt, before string) List {
	stmt = afterFunction(stmt)
	from := len(list)
	if b, ok := stmt.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.AndStmt || b.Op == syntax.OrStmt) {
		list = r.stmt(list, b.X, before)
		list = r.stmt(list, b.Y, b.Op.String())
	} else {
		list = append(list, r.pipeline(nil, stmt, before))
	}
	if !stmt.Background && !stmt.Negated {
		return list
	}
	for _, pipe := range list[from:] {
		for i := range pipe {
			pipe[i].Background = pipe[i].Background || stmt.Background
			pipe[i].Negated = pipe[i].Negated || stmt.Negated
		}
	}
	return list
}

// afterFunction returns a statement with what follows the body of a function after an operator
// outside of it. The parser takes f() { a; } && b for a function that runs both.
func afterFunction(stmt *syntax.Stmt) *syntax.Stmt {
	function, ok := stmt.Cmd.(*syntax.FuncDecl)
	if !ok || function.Body == nil {
		return stmt
	}
	if _, ok := function.Body.Cmd.(*syntax.BinaryCmd); !ok {
		return stmt
	}
	var inside func(*syntax.Stmt) *syntax.Stmt
	inside = func(body *syntax.Stmt) *syntax.Stmt {
		copied := *body
		if binary, ok := body.Cmd.(*syntax.BinaryCmd); ok {
			rest := *binary
			rest.X, copied.Cmd = inside(binary.X), &rest
			return &copied
		}
		only := *function
		only.Body = body
		return &syntax.Stmt{Position: stmt.Position, Cmd: &only}
	}
	whole := inside(function.Body)
	whole.Background, whole.Negated = stmt.Background, stmt.Negated
	return whole
}

// pipeline appends the commands that a statement connects by pipes.
func (r *reader) pipeline(pipe Pipeline, stmt *syntax.Stmt, before string) Pipeline {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
			return r.pipeline(r.pipeline(pipe, cmd.X, before), cmd.Y, "|")
		}
	case *syntax.TimeClause:
		if cmd.Stmt != nil && len(stmt.Redirs) == 0 {
			return r.pipeline(pipe, cmd.Stmt, before)
		}
	}
	c := r.command(stmt.Cmd)
	c.Before, c.Functions = before, slices.Clone(r.functions)
	for _, redirect := range stmt.Redirs {
		c.Redirects = append(c.Redirects, r.redirect(redirect))
	}
	return append(pipe, c)
}

func (r *reader) command(node syntax.Command) (c Command) {
	body := func(keyword string, lists ...[]*syntax.Stmt) {
		c.Keyword = keyword
		for _, stmts := range lists {
			c.Body = r.stmts(c.Body, stmts)
		}
	}
	switch cmd := node.(type) {
	case *syntax.CallExpr:
		c.Assigns, c.Words = r.assigns(cmd.Assigns), r.wordList(cmd.Args)
		for len(c.Words) > 0 && appends(c.Words[0]) {
			c.Assigns, c.Words = append(c.Assigns, c.Words[0]), c.Words[1:]
		}
	case *syntax.DeclClause:
		c.Words = append([]Word{r.literal(cmd.Variant)}, r.assigns(cmd.Args)...)
	case *syntax.Subshell:
		body("(", cmd.Stmts)
	case *syntax.Block:
		body("{", cmd.Stmts)
	case *syntax.IfClause:
		r.ifClause(&c, cmd)
	case *syntax.WhileClause:
		body("while", cmd.Cond, cmd.Do)
	case *syntax.ForClause:
		if loop, ok := cmd.Loop.(*syntax.WordIter); ok {
			c.Variable = loop.Name.Value
		}
		c.Operands = r.operands(cmd.Loop)
		body("for", cmd.Do)
	case *syntax.CaseClause:
		r.caseClause(&c, cmd)
	case *syntax.FuncDecl:
		c.Operands = []Word{r.literal(cmd.Name)}
		r.functions = append(r.functions, cmd.Name.Value)
		body("function", []*syntax.Stmt{cmd.Body})
		r.functions = r.functions[:len(r.functions)-1]
	case *syntax.TimeClause:
		body("{", stmtsOf(cmd.Stmt))
	case *syntax.CoprocClause:
		if call := firstCall(cmd.Stmt); call != nil && (cmd.Name != nil || len(call.Assigns) > 0) {
			r.err = errCoproc // the parser mistakes the command for a name, or its operands for assignments
		}
		body("{", stmtsOf(cmd.Stmt))
	case *syntax.BinaryCmd: // with redirections of its own
		body("{", []*syntax.Stmt{{Cmd: cmd}})
	case *syntax.TestClause:
		c.Keyword, c.Operands = "[[", r.operands(cmd)
	case *syntax.ArithmCmd:
		c.Keyword, c.Operands = "((", r.operands(cmd)
	case *syntax.LetClause:
		c.Keyword, c.Operands = "let", r.operands(cmd)
	}
	return c
}

func (r *reader) ifClause(c *Command, node *syntax.IfClause) {
	c.Keyword = "if"
	for part := node; part != nil; part = part.Else {
		from := len(c.Body)
		c.Body = r.stmts(c.Body, part.Cond)
		then := len(c.Body)
		c.Body = r.stmts(c.Body, part.Then)
		branch := Branch{Condition: c.Body[from:then], Then: c.Body[then:], Otherwise: len(part.Cond) == 0}
		c.Branches = append(c.Branches, branch)
	}
}

func (r *reader) caseClause(c *Command, node *syntax.CaseClause) {
	c.Keyword, c.Operands = "case", r.wordList([]*syntax.Word{node.Word})
	for _, item := range node.Items {
		c.Operands = append(c.Operands, r.wordList(item.Patterns)...)
		from := len(c.Body)
		c.Body = r.stmts(c.Body, item.Stmts)
		anything := slices.ContainsFunc(item.Patterns, func(w *syntax.Word) bool { return w.Lit() == "*" })
		c.Branches = append(c.Branches, Branch{Then: c.Body[from:], Otherwise: anything})
	}
}

// appends reports whether a word is NAME+=value, which is an assignment in bash, even when it runs
// as sh.
func appends(w Word) bool {
	name, _, ok := strings.Cut(w.Text, "+=")
	return ok && !w.Quoted && syntax.ValidName(name)
}

// firstCall returns the simple command that a statement starts with, or nil if it starts with
// another.
func firstCall(stmt *syntax.Stmt) *syntax.CallExpr {
	for stmt != nil {
		binary, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok {
			call, _ := stmt.Cmd.(*syntax.CallExpr)
			return call
		}
		stmt = binary.X
	}
	return nil
}

func stmtsOf(stmt *syntax.Stmt) []*syntax.Stmt {
	if stmt == nil {
		return nil
	}
	return []*syntax.Stmt{stmt}
}

// operands returns all words below a node.
func (r *reader) operands(node syntax.Node) (words []Word) {
	syntax.Walk(node, func(node syntax.Node) bool {
		word, ok := node.(*syntax.Word)
		if ok {
			words = append(words, r.wordList([]*syntax.Word{word})...)
		}
		return !ok
	})
	return words
}

// assigns returns NAME=value words. The text of an array ends at the equals sign.
func (r *reader) assigns(nodes []*syntax.Assign) (words []Word) {
	for _, node := range nodes {
		w := Word{Start: offset(node.Pos()), End: offset(node.End())}
		if node.Name != nil {
			w.add(Part{Kind: Literal, Text: node.Name.Value})
			if node.Append {
				w.add(Part{Kind: Literal, Text: "+"})
			}
			if !node.Naked {
				w.add(Part{Kind: Literal, Text: "="})
			}
		}
		if node.Value != nil {
			r.parts(&w, node.Value.Parts, plain)
			first, ok := node.Value.Parts[0].(*syntax.Lit)
			w.Home = ok && strings.HasPrefix(first.Value, "~")
		}
		if node.Index != nil {
			w.Outputs = append(w.Outputs, r.outputs(node.Index)...)
			w.Array = true
			if node.Value != nil {
				w.Elements = r.wordList([]*syntax.Word{node.Value})
			}
		}
		if node.Array != nil {
			r.array(&w, node.Array)
		}
		words = append(words, w.finished())
	}
	return words
}

// array adds the elements of an array.
func (r *reader) array(w *Word, node *syntax.ArrayExpr) {
	w.Array = true
	for _, element := range node.Elems {
		if element.Index != nil {
			w.Outputs = append(w.Outputs, r.outputs(element.Index)...)
		}
		if element.Value != nil {
			w.Elements = append(w.Elements, r.wordList([]*syntax.Word{element.Value})...)
		}
	}
	for _, element := range w.Elements {
		w.Outputs = append(w.Outputs, element.Outputs...)
	}
}

func (r *reader) redirect(node *syntax.Redirect) Redirect {
	redirect := Redirect{Operator: node.Op.String()}
	if node.Word != nil {
		redirect.Target = r.word(node.Word, plain)
	}
	switch node.Op {
	case syntax.WordHdoc:
		redirect.Body = redirect.Target
		redirect.Body.Outputs = nil
	case syntax.Hdoc, syntax.DashHdoc:
		redirect.Operator = "<<"
		if node.Hdoc == nil {
			break
		}
		quoting := document
		if redirect.Target.Quoted {
			quoting = raw
		}
		redirect.Body = r.word(node.Hdoc, quoting)
	}
	return redirect
}

func offset(pos syntax.Pos) int { return int(pos.Offset()) }
