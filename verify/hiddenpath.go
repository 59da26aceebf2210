package verify

import (
	"path/filepath"
	"slices"
	"strings"
)

// hintHidden is the hint for a check that failed in a sandbox and mentions a file that the sandbox hides.
func hintHidden(printed string, hides func(path string) bool) string {
	if hides == nil {
		return ""
	}
	path := firstPath(printed, hides)
	if path == "" {
		return ""
	}
	return "the sandbox hides " + path + "; to show it: --set 'sandbox.read=" + path + "'"
}

// hintKept is the hint for a check that failed because it may not change a file that the sandbox keeps.
func hintKept(printed string, keeps func(path string) bool) string {
	if keeps == nil {
		return ""
	}
	path := unwritablePath(printed, keeps)
	switch folder := filepath.Dir(path); {
	case path == "":
		return ""
	case isOfSystem(folder):
		return "checks cannot change " + path
	default:
		return "checks cannot change " + path + "; to let them: --set 'sandbox.write=" + folder + "'"
	}
}

// unwritable is the message of the system for a file that cannot be changed, in lower case.
const unwritable = "read-only file system"

// unwritablePath returns the path of a kind that a message about a read-only file system is about. Most
// programs name it before the message, and Python and Node.js after it.
func unwritablePath(printed string, isOfKind func(string) bool) string {
	for line := range strings.Lines(printed) {
		before, after, found := cutFold(line, unwritable)
		if !found {
			continue
		}
		if path := lastPath(withoutProgram(before), isOfKind); path != "" {
			return path
		}
		if path := firstPath(after, isOfKind); path != "" {
			return path
		}
	}
	return ""
}

// cutFold is strings.Cut for a separator of ASCII in lower case, whatever the case in the text.
func cutFold(text, separator string) (before, after string, found bool) {
	for i := range len(text) - len(separator) + 1 {
		if strings.EqualFold(text[i:i+len(separator)], separator) {
			return text[:i], text[i+len(separator):], true
		}
	}
	return text, "", false
}

// withoutProgram returns a line without the name of the program that printed it, as in "/bin/sh: 1: …".
func withoutProgram(line string) string {
	name, rest, found := strings.Cut(line, ":")
	if found && filepath.IsAbs(name) && !strings.ContainsFunc(name, endsPath) {
		return rest
	}
	return line
}

// systemFolders have the programs and settings of the system. No check needs to change them.
var systemFolders = []string{
	"/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr",
}

// isOfSystem reports whether a folder is one of the system's, is in one, or contains one.
func isOfSystem(folder string) bool {
	return folder == "/" || slices.ContainsFunc(systemFolders, func(system string) bool {
		return folder == system || strings.HasPrefix(folder, system+"/")
	})
}

// lastPath returns the last absolute path in a text that is of a kind; "" if there is none.
func lastPath(printed string, isOfKind func(string) bool) string {
	for _, word := range slices.Backward(strings.FieldsFunc(printed, endsPath)) {
		if path := asPath(word); path != "" && isOfKind(path) {
			return path
		}
	}
	return ""
}

// firstPath returns the first absolute path in a text that is of a kind; "" if there is none.
func firstPath(printed string, isOfKind func(string) bool) string {
	for _, word := range strings.FieldsFunc(printed, endsPath) {
		if path := asPath(word); path != "" && isOfKind(path) {
			return path
		}
	}
	return ""
}

// asPath returns the absolute path that a word of a message is; "" if it is none.
func asPath(word string) string {
	path := filepath.Clean(strings.TrimRight(word, ".,:"))
	if !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// endsPath reports whether a character separates paths from the text around them.
func endsPath(r rune) bool { return strings.ContainsRune(" \t\n\r\"'`()[]{}<>,;=", r) }
