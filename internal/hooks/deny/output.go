package deny

import (
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
)

// source is where the input of a command comes from.
type source int

const (
	nothing source = iota
	known          // texts
	file           // a file that is named
	found          // find, with these arguments
	fetched        // a download
	obscure        // something else
)

// input is what a command reads.
type input struct {
	kind  source
	texts []string
	find  []shell.Word
}

// says returns what a command prints.
func (g *guard) says(s shell.Command, st *state) input {
	g.quiet++
	defer func() { g.quiet-- }()
	if s.Keyword != "" || len(s.Words) == 0 || g.redirects(s, st) != "" {
		return input{kind: obscure}
	}
	var all input
	for _, line := range g.lines(s.Words, st) {
		one := g.prints(g.unwrap(line, st), st)
		if one.kind != known {
			return one
		}
		all.kind, all.texts = known, append(all.texts, one.texts...)
	}
	return all
}

// prints returns what a program prints, as far as that is known without running it.
func (g *guard) prints(c invocation, st *state) input {
	if _, ok := st.functions[c.name]; ok {
		return input{kind: obscure}
	}
	switch c.name {
	case "echo":
		return echoed(c.args)
	case "printf":
		if len(c.args) > 0 && !unknown(c.args[0].Text) {
			if text, err := shell.Printf(c.args[0].Text, wordTexts(c.args[1:])); err == nil {
				return input{kind: known, texts: []string{text}}
			}
		}
	case "cat":
		if len(c.args) == 0 {
			return st.input
		}
		if !slices.ContainsFunc(c.args, func(w shell.Word) bool { return w.Text == "-" || unknown(w.Text) }) {
			return input{kind: file}
		}
	case "find":
		return input{kind: found, find: c.args}
	case "pwd":
		return valuesInput(st.get("PWD"))
	case "mktemp": // a new file or folder
		return input{kind: known, texts: []string{"/tmp/tmp.XXXXXXXXXX"}}
	case "git":
		return g.place.asked(c.args)
	}
	return input{kind: obscure}
}

// asked returns what git says about its folders.
func (p Place) asked(args []shell.Word) input {
	switch strings.Join(wordTexts(args), " ") {
	case "rev-parse --show-toplevel":
		return input{kind: known, texts: []string{p.Dir}}
	case "rev-parse --git-dir", "rev-parse --absolute-git-dir", "rev-parse --git-common-dir":
		return input{kind: known, texts: []string{path.Join(p.Dir, ".git")}}
	}
	return input{kind: obscure}
}

func echoed(args []shell.Word) input {
	escapes := false
	for len(args) > 0 && len(args[0].Text) > 1 && args[0].Text[0] == '-' && strings.Trim(args[0].Text[1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0].Text, "e")
		args = args[1:]
	}
	line := strings.Join(wordTexts(args), " ")
	if escapes && strings.Contains(line, `\`) {
		return input{kind: obscure}
	}
	return input{kind: known, texts: []string{line + "\n"}}
}

func valuesInput(values []shell.Value) input {
	in := input{kind: known}
	for _, v := range values {
		in.texts = append(in.texts, v.Text())
	}
	return in
}

func wordTexts(words []shell.Word) (texts []string) {
	for _, w := range words {
		texts = append(texts, w.Text)
	}
	return texts
}
