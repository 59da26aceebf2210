package agent

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first asked: the program starts more often than an agent's error has to be read, and
// there are many of them.
type pattern func() *regexp.Regexp

// allPatterns is every one there is, so that a test can say that they compile.
var allPatterns []pattern

func newPattern(text string) pattern {
	p := pattern(sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) }))
	allPatterns = append(allPatterns, p)
	return p
}

func (p pattern) Match(text []byte) bool                 { return p().Match(text) }
func (p pattern) MatchString(s string) bool              { return p().MatchString(s) }
func (p pattern) FindStringSubmatch(s string) []string   { return p().FindStringSubmatch(s) }
func (p pattern) FindSubmatch(text []byte) [][]byte      { return p().FindSubmatch(text) }
func (p pattern) ReplaceAllString(s, by string) string   { return p().ReplaceAllString(s, by) }
func (p pattern) Split(s string, n int) []string         { return p().Split(s, n) }
func (p pattern) FindString(s string) string             { return p().FindString(s) }
func (p pattern) FindAllString(s string, n int) []string { return p().FindAllString(s, n) }
func (p pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p().FindAllStringSubmatch(s, n)
}
func (p pattern) FindAllSubmatch(text []byte, n int) [][][]byte { return p().FindAllSubmatch(text, n) }
