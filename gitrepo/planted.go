package gitrepo

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// runnable is what git may run on the user's behalf: hooks, and programs that the
// repository's configuration names. An agent that changes them reaches further than its
// own run: the user's next git command runs them, and the next run of ralph takes them
// for the user's.
type runnable struct {
	hooks  map[string][sha256.Size]byte
	config []byte
}

// namesPrograms are parts of the names of settings whose value git may run.
var namesPrograms = []string{
	"filter", "clean", "smudge", "process", "hookspath", "fsmonitor", "sshcommand", "textconv", "driver", "program", "alias", "path", "pager", "editor",
	"helper", "insteadof", "askpass", "command", "cmd", "tool",
}

func (k *Keeper) runnable() runnable {
	return runnable{hooks: hookFiles(filepath.Join(k.snaps.home.Common, "hooks")), config: k.repo.configuration().files[0]}
}

// planted says what is there now that was not, a sentence each.
func (r runnable) planted(before runnable) []string {
	var said []string
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r.hooks)) {
		if was, known := before.hooks[name]; !known || was != r.hooks[name] {
			names = append(names, shorten(name))
		}
	}
	if len(names) > 0 {
		said = append(said, fmt.Sprintf("hooks came into the repository during this run: %s; look at them before your next git command runs them", strings.Join(names, ", ")))
	}
	if bytes.Equal(r.config, before.config) {
		return said
	}
	const shown = 5
	known := lineSet(before.config)
	var lines []string
	for line := range bytes.Lines(r.config) {
		text := strings.TrimSpace(string(line))
		if !known[text] && mayRun(text) && len(lines) <= shown {
			lines = append(lines, shorten(text))
		}
	}
	if len(lines) > shown {
		lines[shown] = "…"
	}
	if len(lines) > 0 {
		said = append(said, "the repository's configuration was changed during this run, where it can make git run programs: "+strings.Join(lines, "; "))
	}
	return said
}

func lineSet(text []byte) map[string]bool {
	lines := map[string]bool{}
	for line := range bytes.Lines(text) {
		lines[strings.TrimSpace(string(line))] = true
	}
	return lines
}

// mayRun reports whether a line of a configuration begins a section, or makes a setting,
// by which git runs programs.
func mayRun(line string) bool {
	name, _, _ := strings.Cut(strings.ToLower(line), "=")
	return slices.ContainsFunc(namesPrograms, func(part string) bool { return strings.Contains(name, part) })
}
