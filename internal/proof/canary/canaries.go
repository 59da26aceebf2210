package canary

import (
	"path"
	"slices"
	"strings"
)

// canaries are the planted tests, and what a run showed about them.
type canaries struct {
	tokens   map[string]string // token to key
	prefixes []string          // prefixes of tokens
	files    []string          // the planted files' names without folder and extension
	marks    []Mark

	skewed  map[string]bool // names of tests in which a literal was changed
	seen    map[string]bool // keys whose token was seen, or whose test failed because of a changed literal
	passing map[string]bool // keys whose test was seen passing
}

func newCanaries(plants []Plant) canaries {
	c := canaries{
		tokens: map[string]string{}, seen: map[string]bool{}, passing: map[string]bool{}, skewed: map[string]bool{},
	}
	for _, p := range plants {
		if base, _, _ := strings.Cut(path.Base(p.Name), "."); !p.Inside {
			c.files = append(c.files, base)
		}
		for _, m := range p.Marks {
			c.marks = append(c.marks, m)
			if m.Literal {
				continue
			}
			c.tokens[m.Token] = m.Key
			if prefix := m.Token[:min(6, len(m.Token))]; !slices.Contains(c.prefixes, prefix) {
				c.prefixes = append(c.prefixes, prefix)
			}
		}
	}
	return c
}

// findTokens searches text for tokens.
func (c *canaries) findTokens(text string) {
	for _, prefix := range c.prefixes {
		rest := text
		for {
			i := strings.Index(rest, prefix)
			if i < 0 {
				break
			}
			rest = rest[i:]
			for token, key := range c.tokens {
				if strings.HasPrefix(rest, token) {
					c.seen[key] = true
				}
			}
			rest = rest[len(prefix):]
		}
	}
}

// isCanary reports whether a test is a canary by its name, and records one that passed.
func (c *canaries) isCanary(name string, state State) bool {
	contained := func(part string) bool { return strings.Contains(name, part) }
	own := slices.ContainsFunc(c.files, contained) || slices.ContainsFunc(c.prefixes, contained)
	for _, m := range c.marks {
		if m.Literal {
			own = c.noteLiteral(m, name, state) || own
			continue
		}
		if !contained(m.Test[0]) {
			continue
		}
		own = true
		if state == Passed && !slices.ContainsFunc(m.Test, func(part string) bool { return !contained(part) }) {
			c.passing[m.Key] = true
		}
	}
	return own
}

// noteLiteral records how a test ended in which a literal was changed. It fails if a part of it does.
func (c *canaries) noteLiteral(m Mark, name string, state State) bool {
	isGroup := slices.ContainsFunc(m.Groups, func(title string) bool {
		return name == title || strings.HasSuffix(name, " > "+title)
	})
	if isGroup {
		c.skewed[name] = true
		return true
	}
	if !m.Matches(name) {
		return false
	}
	c.skewed[name] = true
	if m.Sets > 0 {
		c.skewed[setsOf(name)] = true
	}
	switch {
	case state == Failed:
		c.seen[m.Key] = true
		delete(c.passing, m.Key)
	case state == Passed && !c.seen[m.Key]:
		c.passing[m.Key] = true
	}
	return true
}
