package git

import (
	"slices"
	"strings"
	"syscall"
)

// storageFailed reports whether git says that it could not write its own files. It knows git's
// messages in English, which every call asks for.
func storageFailed(stderr string) bool {
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		said, fatal := strings.CutPrefix(line, "fatal: ")
		said, failed := strings.CutPrefix(said, "error: ")
		if (fatal || failed) && (endsWith(said, diskErrors) || endsWith(said, writeErrors) && saysWrite(said) ||
			slices.ContainsFunc(unexplained, func(text string) bool { return strings.Contains(said, text) })) {
			return true
		}
	}
	return false
}

var (
	diskErrors = []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EROFS, syscall.EDQUOT}
	// writeErrors are also those of files that belong to the project and cannot be read.
	writeErrors = []syscall.Errno{syscall.EACCES, syscall.EPERM}
	// writeWords tell git's own files from them.
	writeWords = []string{"create", "write", "append", "update", "lock", "rename", "unlink", "set permission"}
	// unexplained are errors that git prints without their cause.
	unexplained = []string{
		"unable to write new index file", "unable to write new_index file", "couldn't write '", "couldn't set '",
		"insufficient permission for adding an object",
	}
)

func endsWith(said string, errnos []syscall.Errno) bool {
	said = strings.ToLower(said)
	return slices.ContainsFunc(errnos, func(e syscall.Errno) bool { return strings.HasSuffix(said, e.Error()) })
}

func saysWrite(said string) bool {
	return slices.ContainsFunc(writeWords, func(word string) bool { return strings.Contains(said, word) })
}
