package hooks

import (
	"slices"
	"strings"
)

// transparent are keywords that a command follows.
var transparent = []string{"if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "coproc"}

// stage reads one part of a pipeline. closed is told if it was the bracket that ends the list.
func (p *parser) stage(closing byte) (stage, ending) {
	s := stage{inside: slices.Clone(p.functions)}
	for {
		p.skipBlanks()
		first := len(s.words) == 0 && s.group == nil
		switch c := p.peek(); {
		case p.at == len(p.text) || c == ')' || c == '\n' || c == ';' || c == '|' || c == '&' && !p.has("&>"):
			return s, goesOn
		case p.has("(("):
			if !p.arithmetic(2) && !p.bracket(&s) {
				return s, goesOn
			}
		case c == '(':
			if !p.bracket(&s) {
				return s, goesOn
			}
		case p.redirection(&s, ""):
		default:
			w := p.nextWord()
			if w.text != "" && !w.quoted && strings.Trim(w.text, "0123456789") == "" && p.redirection(&s, w.text) {
				continue
			}
			if s.subshell && len(s.words) == 0 {
				s.group, s.subshell, first = nil, false, true // it was a pattern of case
			}
			if !first {
				s.words = append(s.words, w)
				continue
			}
			if p.keyword(w, &s, closing) == closed {
				return s, closed
			}
		}
	}
}

// nextWord reads a word. The bracket that opens the body of a function is one even without a blank behind it: some shells take it, and people write it.
func (p *parser) nextWord() word {
	if p.defining != "" && p.peek() == '{' {
		p.at++
		return word{text: "{"}
	}
	return p.word()
}

// bracket takes a round bracket: a group, or the one behind the name of a function. It is false if the bracket was only skipped.
func (p *parser) bracket(s *stage) bool {
	p.at++
	if len(s.words) == 0 {
		p.open()
		s.group, s.subshell = append(s.group, p.list(')')...), true
		p.shut()
		return true
	}
	p.skipBlanks()
	if p.peek() == ')' && len(s.words) == 1 {
		p.at++
		p.defining = s.words[0].text
		s.words = nil
		return true
	}
	return false
}

// keyword takes the first word of a command.
func (p *parser) keyword(w word, s *stage, closing byte) ending {
	switch {
	case w.plain("{"):
		p.open()
		s.group = append(s.group, p.list('}')...)
		p.shut()
		if s.group == nil {
			s.group = list{}
		}
	case w.plain("}") && closing == '}':
		return closed
	case w.plain("function"):
		p.skipBlanks()
		p.defining = p.word().text
		p.skipBlanks()
		if p.has("()") {
			p.at += 2
		}
	case w.plain("[["):
		p.condition()
		s.words = append(s.words, w)
	case w.plain("time"):
		p.skipBlanks()
		if p.has("-p ") {
			p.at += 2
		}
	case w.plain("esac"):
		p.cases = max(0, p.cases-1)
	case w.plain("case"):
		p.cases++
		s.words = append(s.words, w)
	case !w.quoted && slices.Contains(transparent, w.text):
	default:
		s.words = append(s.words, w)
	}
	return goesOn
}

// open begins a group, which may be the body of a function.
func (p *parser) open() {
	p.functions = append(p.functions, p.defining)
	p.defining = ""
}

func (p *parser) shut() { p.functions = p.functions[:len(p.functions)-1] }

// condition skips a [[ … ]], whose operators are no commands.
func (p *parser) condition() {
	for p.at < len(p.text) {
		p.skipSpace()
		before := p.at
		if p.word().plain("]]") {
			return
		}
		if p.at == before {
			p.at = min(p.at+1, len(p.text))
		}
	}
}

// arithmetic skips an expression behind so many bytes of opening brackets. It is false, and nothing is taken, if there is none.
func (p *parser) arithmetic(opening int) bool {
	depth := 0
	text := p.text[p.at+opening:]
	for i := 0; i < min(len(text), arithmeticLimit); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth == 0 {
				if !strings.HasPrefix(text[i:], "))") {
					return false
				}
				p.at += opening + i + 2
				return true
			}
			depth--
		}
	}
	return false
}

// operators of redirection, the longer ones first.
var operators = []string{"<<<", "<<-", "&>>", "<<", "<>", "<&", ">>", ">&", ">|", "&>", "<", ">"}

// redirection takes one, behind the number of a stream that was read already.
func (p *parser) redirection(s *stage, number string) bool {
	if p.has("<(") || p.has(">(") {
		return false // a word
	}
	if number != "" && (p.at == 0 || !isDigit(p.text[p.at-1]) || p.has("&>")) {
		return false
	}
	i := slices.IndexFunc(operators, p.has)
	if i < 0 {
		return false
	}
	r := &redirect{operator: operators[i]}
	p.at += len(r.operator)
	p.skipBlanks()
	r.target = p.word()
	if r.operator == "<<-" {
		r.operator, r.tabs = "<<", true
	}
	s.redirects = append(s.redirects, r)
	if r.operator == "<<" {
		p.waiting = append(p.waiting, r)
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
