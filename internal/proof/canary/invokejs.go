package canary

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

var packageManagers = []string{"npm", "yarn", "pnpm", "bun"}

// scriptRunner parses `npm test` and similar commands into the name of the script and its
// arguments.
func scriptRunner(texts []string, i int) (runner, bool) {
	manager := texts[i]
	j := i + 1
	for j < len(texts) && (texts[j] == "--silent" || texts[j] == "-s" || texts[j] == "run" || texts[j] == "run-script") {
		j++
	}
	if j >= len(texts) || strings.HasPrefix(texts[j], "-") || manager == "bun" && texts[j-1] != "run" {
		return runner{}, false
	}
	name := texts[j]
	if manager == "npm" && name == "t" {
		name = "test"
	}
	if manager == "npm" && name != "test" && texts[j-1] != "run" && texts[j-1] != "run-script" {
		return runner{}, false
	}
	return runner{name: "script", last: j, args: append([]string{name}, texts[j+1:]...)}, true
}

// scriptText returns a script of the workspace's package.json.
func scriptText(t Tree, name string) string {
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(readText(t, "package.json")), &manifest) != nil {
		return ""
	}
	return manifest.Scripts[name]
}

func scriptSegments(t Tree, name string) []segment {
	segments := split(scriptText(t, name))
	for i := range segments {
		// Nested scripts are not followed, because a script could call itself.
		if r, ok := runnerOf(segments[i].texts()); ok && r.name == "script" {
			segments[i].words = segments[i].words[:1]
		}
	}
	return segments
}

// script looks into a script of package.json. Its text cannot be changed, but the last command in
// it receives appended arguments.
func (v *invoker) script(s segment, r runner) {
	segments := scriptSegments(v.tree, r.args[0])
	whole := v.whole
	for i, inner := range segments {
		found, ok := runnerOf(inner.texts())
		if !ok {
			continue
		}
		v.whole = whole && decides(segments, i)
		inner.plain = inner.plain && s.plain
		switch found.name {
		case "node":
			v.setKnown("javascript", v.nodeRunsAll(inner, found) && len(r.args) == 1)
		case "pytest":
			v.pytest(inner, found)
		case "jest", "vitest":
			if i != len(segments)-1 || !inner.plain || len(r.args) > 1 {
				continue
			}
			separator := " --"
			if manager := s.words[0].text; manager == "yarn" || manager == "pnpm" {
				separator = ""
			}
			if words := v.jsonWords(found); words != "" {
				v.add(s, len(s.words)-1, separator+words)
			}
		}
	}
	v.whole = whole
}

func (v *invoker) node(s segment, r runner) { v.setKnown("javascript", v.nodeRunsAll(s, r)) }

// json makes jest or vitest, called directly, write a report.
func (v *invoker) json(s segment, r runner) {
	if !s.plain {
		return
	}
	if words := v.jsonWords(r); words != "" {
		v.add(s, len(s.words)-1, words)
	}
}

// jsonWords returns arguments that request a report in addition to the usual output, or "" if the
// command already requests one.
func (v *invoker) jsonWords(r runner) string {
	for _, arg := range r.args {
		if strings.HasPrefix(arg, "--json") || strings.HasPrefix(arg, "--reporter") ||
			strings.HasPrefix(arg, "--outputFile") || arg == "--" || arg == "--listTests" {
			return ""
		}
	}
	report := filepath.Join(v.dir, r.name+".json")
	switch r.name {
	case "jest":
		v.found.Reports = append(v.found.Reports, report)
		return " --json --outputFile=" + shell.Quote(report)
	case "vitest":
		v.found.Reports = append(v.found.Reports, report)
		return " --reporter=default --reporter=json --outputFile.json=" + shell.Quote(report)
	}
	return ""
}

var nodeDefault = text.LazyRegexp(`(?:[._-]test\.[cm]?js|^test(?:-.*)?\.[cm]?js)$`)

// nodeRunsAll reports whether the command is `node --test` without names or patterns, and its
// default patterns find every test.
func (v *invoker) nodeRunsAll(s segment, r runner) bool {
	for _, arg := range r.args {
		harmless := arg == "--test" || strings.HasPrefix(arg, "--test-reporter") ||
			strings.HasPrefix(arg, "--experimental-") && !strings.Contains(arg, "loader")
		if !harmless {
			return false
		}
	}
	g := planner{tree: v.tree}
	return s.plain && !slices.ContainsFunc(v.tree.Files, func(name string) bool {
		base := name[strings.LastIndex(name, "/")+1:]
		return !isForeign(name) && g.jsTest(name) && !nodeDefault().MatchString(base)
	})
}
