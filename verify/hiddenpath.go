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
	path := firstPath(printed, s.Hides)
	if path == "" {
		return ""
	}
	return "[ralph: the sandbox hides " + path + "; to show it: --set 'sandbox.read=" + path + "']"
}

// keptRemark is the line for a check that failed because it may not change a file that the sandbox keeps.
func (s Shell) keptRemark(ended process.Result, printed string) string {
	if s.Keeps == nil || ended.State != process.Exited || ended.ExitCode == 0 ||
		!strings.Contains(strings.ToLower(printed), "read-only file system") {
		return ""
	}
	path := firstPath(printed, s.Keeps)
	if path == "" {
		return ""
	}
	return "[ralph: checks cannot change " + path + "; to let them: --set 'sandbox.write=" + filepath.Dir(path) + "']"
}

// firstPath returns the first absolute path in a text that is of a kind; "" if there is none.
func firstPath(printed string, isOfKind func(string) bool) string {
	for _, word := range strings.FieldsFunc(printed, endsPath) {
		path := filepath.Clean(strings.TrimRight(word, ".,:"))
		if filepath.IsAbs(path) && isOfKind(path) {
			return path
		}
	}
	return ""
}

// endsPath reports whether a character separates paths from the text around them.
func endsPath(r rune) bool { return strings.ContainsRune(" \t\n\r\"'`()[]{}<>,;=", r) }
