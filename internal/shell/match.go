package shell

import (
	"errors"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/pattern"
)

// Matches reports whether a pattern of bash matches the name of a file. A name that starts with a
// dot is matched only if the pattern does, too.
func Matches(glob, name string) bool { return matches(glob, name, 0) }

// MatchesHidden is Matches with the option dotglob.
func MatchesHidden(glob, name string) bool { return matches(glob, name, pattern.GlobLeadingDot) }

func matches(glob, name string, dots pattern.Mode) bool {
	if !strings.ContainsAny(glob, "*?[(") {
		return false
	}
	inner, negated := strings.CutPrefix(glob, "!(")
	negated = negated && strings.HasSuffix(inner, ")")
	if dots == 0 && strings.HasPrefix(name, ".") {
		alternative := strings.Contains(glob, "(.") || strings.Contains(glob, "|.")
		if negated || !alternative && !strings.HasPrefix(glob, ".") {
			return false
		}
		dots = pattern.GlobLeadingDot
	}
	if negated {
		return !matches("@("+inner, name, pattern.GlobLeadingDot)
	}
	const mode = pattern.EntireString | pattern.Filenames | pattern.NoGlobStar | pattern.ExtendedOperators
	expression, err := pattern.Regexp(glob, mode|dots)
	if err != nil {
		var inside *pattern.NegExtGlobError
		return errors.As(err, &inside) // it matches most names
	}
	compiled, err := regexp.Compile(expression)
	return err == nil && compiled.MatchString(name)
}
