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
		if line == emptyMessage || (fatal || failed) && (endsWith(said, diskErrors) ||
			endsWith(said, accessErrors) && (containsAny(said, writeWords) || namesGitsFile(said)) ||
			containsAny(said, unexplained)) {
			return true
		}
	}
	return false
}

// emptyMessage is what git prints if it could not write the message of a commit, because it does not
// notice that. Our messages are never empty.
const emptyMessage = "Aborting commit due to empty commit message."

var (
	diskErrors = []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EROFS, syscall.EDQUOT}
	// accessErrors may also be about files of the project.
	accessErrors = []syscall.Errno{syscall.EACCES, syscall.EPERM}
	// writeWords tell git's own files from them: git only reads those of the project.
	writeWords = []string{"create", "write", "writing", "append", "update", "lock", "rename", "unlink"}
	// unexplained are errors that git prints without their cause.
	unexplained = []string{
		"unable to write new index file", "unable to write new_index file", "Could not write new index file",
		"couldn't write '", "couldn't set '", "unable to set permission to '", "unable to create directory for ",
		"insufficient permission for adding an object", ": failed to insert into database", "Out of diskspace",
	}
)

func endsWith(said string, errnos []syscall.Errno) bool {
	said = strings.ToLower(said)
	return slices.ContainsFunc(errnos, func(e syscall.Errno) bool { return strings.HasSuffix(said, e.Error()) })
}

func containsAny(said string, texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(said, text) })
}

// namesGitsFile reports whether a message names a file in a git folder that is not a hook, which
// belongs to the user.
func namesGitsFile(said string) bool {
	return strings.Contains(said, ".git/") && !strings.Contains(said, ".git/hooks/")
}
