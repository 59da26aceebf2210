package verify

import (
	"regexp"
	"slices"
)

// killedStatus are the exit codes of a shell whose program was ended by HUP, INT, KILL or TERM. A crash (SEGV, ABRT) is
// the program's own.
var killedStatus = []int{129, 130, 137, 143}

// killedLine is how shells, make, go and npm say that one of these signals ended a program that they started.
var killedLine = regexp.MustCompile(`(?m)^(Hangup|Killed|Terminated)\s*$` +
	`|: line \d+: +\d+ (Hangup|Killed|Terminated)\b` +
	`|^g?make(\[\d+\])?: \*\*\* .*\] (Hangup|Interrupt|Killed|Terminated)\s*$` +
	`|^signal: (hangup|interrupt|killed|terminated)\s*$` +
	`|^npm (ERR!|error) signal SIG(HUP|INT|KILL|TERM)\s*$`)

// wasKilled reports whether another process may have ended a check, or a part of it. In a live session that can be one
// of the agent: then the check did not fail by itself.
func wasKilled(exitCode int, output string) bool {
	return slices.Contains(killedStatus, exitCode) || killedLine.MatchString(output)
}
