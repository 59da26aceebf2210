package protect

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// Aware is product code that checks whether it is being tested, and did not at the base.
type Aware struct{ Name, Line string }

// question is how code checks that. Every such line contains one of the words.
type question struct {
	words []string
	asks  func() *regexp.Regexp
}

// asksRalph is what only a run has: in a variable of Ralph, such as the answer, an agent could hide its work.
var asksRalph = question{
	[]string{"RALPH_", "ANSWER_FILE"},
	// A line that begins with an assignment reads nothing: it may be of a list of variables.
	text.LazyRegexp(`\S.*\bRALPH_\w|^\s*RALPH_\w+(?:[^=\w]|$)|\bANSWER_FILE\b|_ANSWER_FILE\b`),
}

// otherCode are the names of programs in languages that ecosystems lacks. A program without an ending counts, too.
var otherCode = strings.Fields(".awk .bash .fish .jl .ksh .mk .nim .ps1 .py3 .r .R .sed .tcl .zsh")

// questionsOf returns how a file may check that. It reports false for files that are no code.
func questionsOf(name string) ([]question, bool) {
	ending := path.Ext(name)
	kind, known := ecosystems[ending]
	if !known && ending != "" && !slices.Contains(otherCode, ending) {
		return nil, false
	}
	if asking, ok := awareness[kind]; ok {
		return []question{asking, asksRalph}, true
	}
	return []question{asksRalph}, true
}

var awareness = map[ecosystem]question{
	golang: {
		[]string{"testing.Testing(", "flag.Lookup(", "os.Args", "RALPH_"},
		text.LazyRegexp(`\bRALPH_\w|\btesting\.Testing\(|\bflag\.Lookup\("test\.|\bos\.Args\b.*(\.test"|"-test\.)`),
	},
	python: {
		[]string{"PYTEST_", "sys.modules", "sys.argv", "sys.orig_argv", "RALPH_", "PYTHONPYCACHEPREFIX", "pycache_prefix"},
		text.LazyRegexp(`\bRALPH_\w|\bPYTHONPYCACHEPREFIX\b|\bpycache_prefix\b|` +
			`\bPYTEST_(CURRENT_TEST|VERSION|XDIST_WORKER|ADDOPTS)\b|` +
			`['"]_?(pytest|unittest)['"] +(not +)?in +sys\.(modules|argv|orig_argv)\b|` +
			`\bsys\.(modules|argv|orig_argv)\b.*['"]_?(pytest|unittest)\b`),
	},
	script: {
		[]string{"NODE_TEST_CONTEXT", "JEST_WORKER_ID", "VITEST", "RALPH_"},
		text.LazyRegexp(`\bRALPH_\w|\b(NODE_TEST_CONTEXT|JEST_WORKER_ID|VITEST_WORKER_ID|VITEST_POOL_ID)\b|\benv\.VITEST\b`),
	},
	rust: {
		[]string{"cfg!(test)", "RALPH_", "CARGO_TARGET_DIR"},
		text.LazyRegexp(`\bcfg!\(test\)|\bRALPH_\w|\bCARGO_TARGET_DIR\b`),
	},
	ruby: {[]string{"defined?("}, text.LazyRegexp(`\bdefined\?\((::)?(RSpec|Minitest|MiniTest)\b`)},
	php:  {[]string{"PHPUNIT_"}, text.LazyRegexp(`\bPHPUNIT_(COMPOSER_INSTALL|TESTSUITE)\b|__PHPUNIT_`)},
}

// becameAware finds product code that is new to checking for tests, or does so in more places than
// before.
func (in *inspection) becameAware(changes []ralph.FileChange) ([]Aware, error) {
	var names, words []string
	for _, change := range changes {
		asking, known := questionsOf(change.Name)
		if !known || change.Kind == ralph.FileDeleted || testName(change.Name) || isSetup(change.Name) {
			continue
		}
		names = append(names, change.Name)
		for _, question := range asking {
			for _, word := range question.words {
				if !slices.Contains(words, word) {
					words = append(words, word)
				}
			}
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	now, err := in.askingLines(Now, names, words)
	if err != nil || len(now) == 0 {
		return nil, err
	}
	before, err := in.askingLines(Base, names, words)
	if err != nil {
		return nil, err
	}
	var found []Aware
	for name, lines := range now {
		if len(lines) > len(before[name]) {
			fresh := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
				return slices.Contains(before[name], line)
			})
			found = append(found, Aware{name, strings.TrimSpace(slices.Concat(fresh, lines)[0])})
		}
	}
	slices.SortFunc(found, func(a, b Aware) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// isSetup reports whether a file configures tools, which may well differ under test.
func isSetup(name string) bool {
	base := strings.ToLower(path.Base(name))
	if _, steers := steeringRule(name); steers {
		return true
	}
	return strings.Contains(base, "config") || strings.Contains(base, "setup") || strings.Contains(base, "settings") ||
		base == "manage.py"
}

func (in *inspection) askingLines(side Side, names, words []string) (map[string][]string, error) {
	mentions, err := in.trees.Find(in.ctx, side, names, words)
	lines := map[string][]string{}
	for _, m := range mentions {
		asking, _ := questionsOf(m.Name)
		if slices.ContainsFunc(asking, func(q question) bool { return q.asks().MatchString(m.Line) }) {
			lines[m.Name] = append(lines[m.Name], m.Line)
		}
	}
	return lines, err
}
