package judge

import (
	"github.com/ralphloop/ralph"
)

var (
	isGreen  = ralph.CheckResult{Passed: true}
	isRed    = ralph.CheckResult{ExitCode: 1, Output: "FAIL"}
	isBroken = ralph.CheckResult{Broken: true, ExitCode: 127, Output: "not found"}
)
