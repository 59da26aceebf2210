package verify

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/text"
)

// askTimeout bounds the call that asks the shell whether it knows a word.
const askTimeout = 10 * time.Second

// runnable reports whether a check that exited with 126 or 127 could have run, judging by its first
// word. In doubt the answer is yes.
func (s Shell) runnable(ctx context.Context, in ralph.CheckInput) bool {
	word, certain := firstWord(in.Name, s.variable)
	if !certain || word == "" {
		return true
	}
	if strings.ContainsRune(word, '/') {
		return existsInWorkspace(word, in.Dir) || s.inPathFolder(word)
	}
	return s.shellKnows(ctx, word, in)
}

// existsInWorkspace reports whether word is the path of something in the workspace.
func existsInWorkspace(word, dir string) bool {
	path := word
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if _, err := os.Stat(path); err != nil {
		return false
	}
	return isInside(path, dir) || isInside(path, resolveLinks(dir))
}

func isInside(path, dir string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}

func resolveLinks(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// inPathFolder reports whether word is the full path of a program on PATH.
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

// shellKnows asks the shell that ran the check, because builtins differ between versions of `sh`
// and PATH has a default.
func (s Shell) shellKnows(ctx context.Context, word string, in ralph.CheckInput) bool {
	argv := append(process.Shell(`command -v -- "$1"`), "sh", word)
	answer, err := process.Run(
		ctx, s.inView(process.Spec{Argv: argv, Dir: in.Dir, Env: s.Env, Marker: in.Marker, Timeout: askTimeout}),
	)
	if err != nil || answer.State != process.Exited {
		return true
	}
	return answer.ExitCode == 0
}

// variable looks up a variable in the environment of the checks; the last duplicate wins.
func (s Shell) variable(name string) (string, bool) {
	for i := len(s.Env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(s.Env[i], name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// lacksModule reports whether Python says, and says nothing else, that it has no module that the command runs with -m:
// a missing test runner, as in `python3 -m pytest`. Then no test ran.
func lacksModule(command, output string) bool {
	said := missingModule().FindStringSubmatch(strings.TrimSpace(output))
	words := strings.Fields(command)
	run := slices.Index(words, "-m") + 1
	return said != nil && run > 0 && run < len(words) && words[run] == said[1]
}

var missingModule = text.LazyRegexp(`^\S*python\S*: No module named '?([\w.]+)'?$`)
