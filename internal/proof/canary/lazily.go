package canary

import (
	"regexp"
	"sync"
)

// lazily compiles an expression when it is first needed: most calls of the program need none of them.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
