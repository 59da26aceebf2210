package verify

import (
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
)

// hiddenRemark is the line that the harness adds to the output of a check that failed in a sandbox and
// mentions a file that the sandbox hides.
func (s Shell) hiddenRemark(ended process.Result, printed string) string {
	if s.Hides == nil || ended.State != process.Exited || ended.ExitCode == 0 {
		return ""
	}
	for _, word := range strings.FieldsFunc(printed, endsPath) {
		path := filepath.Clean(strings.TrimRight(word, ".,:"))
		if filepath.IsAbs(path) && s.Hides(path) {
			return "[ralph: the sandbox hides " + path + "; to show it: --set 'sandbox.read=" + path + "']"
		}
	}
	return ""
}

// endsPath reports whether a character separates paths from the text around them.
func endsPath(r rune) bool { return strings.ContainsRune(" \t\n\r\"'`()[]{}<>,;=", r) }
