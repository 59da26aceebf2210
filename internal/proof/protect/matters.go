package protect

import "path"

// Matters reports whether a file may affect checks, judging by its name: source code, tests, and
// configuration of tests. It is for files that git ignores, most of which are data, logs and build
// output.
func Matters(name string) bool {
	if _, steers := steeringRule(name); steers {
		return true
	}
	return ecosystems[path.Ext(name)] != "" || testName(name)
}
