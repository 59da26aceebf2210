package protect

import "path"

// Matters says whether a file may have a part in what checks do, by its name alone: source code, tests, and what steers them. It is for files that git
// ignores, of which most are data, logs and build output.
func Matters(name string) bool {
	if _, steers := steeringRule(name); steers {
		return true
	}
	return ecosystems[path.Ext(name)] != "" || testName(name)
}
