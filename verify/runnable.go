package verify

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
)

// askTimeout bounds the question to the shell whether it knows a word.
const askTimeout = 10 * time.Second

// runnable says whether a check that ended with 126 or 127 could have run, as far as
// its first word tells. Doubts count as yes.
func (s Shell) runnable(ctx context.Context, in ralph.CheckInput) bool {
	word, certain := firstWord(in.Name, s.variable)
	if !certain || word == "" {
		return true
	}
	if strings.ContainsRune(word, '/') {
		return exists(word, in.Dir) || s.inPathFolder(word)
	}
	return s.shellKnows(ctx, word, in)
}

// exists reports whether word is the path of something in the workspace.
func exists(word, dir string) bool {
	path := word
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if _, err := os.Stat(path); err != nil {
		return false
	}
	return inside(path, dir) || inside(path, resolved(dir))
}

func inside(path, dir string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}

func resolved(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// inPathFolder reports whether word names, by its full path, a program that is on PATH.
func (s Shell) inPathFolder(word string) bool {
	if info, err := os.Stat(word); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return false
	}
	folders, _ := s.variable("PATH")
	for _, folder := range filepath.SplitList(folders) {
		if filepath.IsAbs(folder) && filepath.Clean(folder) == filepath.Dir(filepath.Clean(word)) {
			return true
		}
	}
	return false
}

// shellKnows asks the very shell that ran the check: which builtins there are differs
// from one `sh` to the next, and PATH has a default of its own.
func (s Shell) shellKnows(ctx context.Context, word string, in ralph.CheckInput) bool {
	argv := append(process.Shell(`command -v -- "$1"`), "sh", word)
	answer, err := process.Run(ctx, s.entered(process.Spec{Argv: argv, Dir: in.Dir, Env: s.Env, Marker: in.Marker, Timeout: askTimeout}))
	if err != nil || answer.State != process.Exited {
		return true
	}
	return answer.ExitCode == 0
}

// variable reads the environment of the checks; of duplicates the last counts.
func (s Shell) variable(name string) (string, bool) {
	for i := len(s.Env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(s.Env[i], name+"="); ok {
			return value, true
		}
	}
	return "", false
}
