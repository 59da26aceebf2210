package git

import (
	"slices"
	"strings"
	"syscall"

	"github.com/ralphloop/ralph/internal/text"
)

// storageFailed reports whether git says that it could not write its own files. It knows git's
// messages in English, which every call asks for.
func storageFailed(stderr string) bool {
	for line := range strings.Lines(stderr) {
		said, fatal := strings.CutPrefix(strings.TrimSpace(line), "fatal: ")
		said, failed := strings.CutPrefix(said, "error: ")
		if (fatal || failed) && blamesStorage(said) {
			return true
		}
	}
	return false
}

func blamesStorage(said string) bool {
	inGit := strings.Contains(said, ".git/") && !strings.Contains(said, ".git/hooks/") // hooks are the user's
	said = strings.ToLower(quoted().ReplaceAllString(said, "''"))
	return endsWith(said, diskErrors) || containsAny(said, unexplained) ||
		endsWith(said, accessErrors) && (inGit || containsAny(said, writeWords))
}

// quoted matches the names of files in messages.
var quoted = text.LazyRegexp(`\B'[^']*'|"[^"]*"`)

var (
	diskErrors = []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EROFS, syscall.EDQUOT}
	// accessErrors may also be about files of the project.
	accessErrors = []syscall.Errno{syscall.EACCES, syscall.EPERM}
	// writeWords tell git's own files from them: git only reads those of the project.
	writeWords = []string{"create", "write", "writing", "append", "update", "lock", "rename", "unlink"}
	// unexplained are errors that git prints without their cause.
	unexplained = []string{
		"unable to write new index file", "unable to write new_index file", "could not write new index file",
		"couldn't write ''", "couldn't set ''", "unable to set permission to ''", "unable to create directory for ",
		"insufficient permission for adding an object", ": failed to insert into database", "out of diskspace",
	}
)

func endsWith(said string, errnos []syscall.Errno) bool {
	return slices.ContainsFunc(errnos, func(e syscall.Errno) bool { return strings.HasSuffix(said, e.Error()) })
}

func containsAny(said string, texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(said, text) })
}
