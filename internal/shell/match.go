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
	hidden := dots == 0 && strings.HasPrefix(name, ".")
	if !strings.ContainsAny(glob, "*?[(") || hidden && !strings.HasPrefix(glob, ".") {
		return false
	}
	const mode = pattern.EntireString | pattern.Filenames | pattern.NoGlobStar | pattern.ExtendedOperators
	expression, err := pattern.Regexp(glob, mode|dots)
	var negated *pattern.NegExtGlobError
	if err != nil {
		return errors.As(err, &negated) // it matches most names
	}
	compiled, err := regexp.Compile(expression)
	return err == nil && compiled.MatchString(name)
}
