package canary

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// Limits for the files that are repeated with a wrong expectation, and for the tests in each.
const (
	maxClaims     = 10
	maxClaimTests = 20
	maxClaimText  = 64 << 10
)

// namesPython reports whether the command will name the tests it runs. Without names it is unknown
// whether a repeated test passed.
func (g *planner) namesPython() bool {
	// otherwise the report may be somewhere else
	reported := !strings.Contains(g.command+pytestConfig(g.tree), "junit")
	for _, s := range g.segments {
		if r, ok := runnerOf(s.texts()); ok && (r.name == "pytest" && reported || r.name == "unittest" && s.plain) {
			return true
		}
	}
	return false
}

// plantClaims repeats tests of the project with a wrong expected number or text that no honest
// program returns. This finds values that are equal to everything. No other canary can, because
// only the project's own tests know how to obtain its values.
func (g *planner) plantClaims() {
	var files []string
	for _, p := range g.testFolders(pythonTest) {
		files = append(files, p.tests...)
	}
	slices.SortFunc(files, compareHashes)
	planted := 0
	for _, file := range files {
		if planted == maxClaims {
			return
		}
		text := g.read(file)
		if text == "" || len(text) > maxClaimText {
			continue
		}
		name, _, _ := g.sibling(file, "_")
		module := strings.TrimSuffix(path.Base(name), ".py")
		text, marks := g.falsifyClaims(text, file, module)
		if len(marks) > 0 {
			g.plant(name, text, marks...)
			planted++
		}
	}
}

const literalPattern = `(-?\d+|'[^'\\{}]*'|"[^"\\{}]*")`

var (
	pythonDef     = text.LazyRegexp(`^([ \t]*)def (test\w*)\(.*\).*:[ \t]*$`)
	claimAssert   = text.LazyRegexp(`^([ \t]+assert .+\(.*\)[\w.\[\]]* == )` + literalPattern + `()[ \t]*$`)
	claimEqual    = text.LazyRegexp(`^([ \t]+self\.assertEquals?\(.+\)[\w.\[\]]*, )` + literalPattern + `(\))[ \t]*$`)
	claimReversed = text.LazyRegexp(`^([ \t]+self\.assertEquals?\()` + literalPattern + `(, .+\)[\w.\[\]]*\))[ \t]*$`)
	claimDoubt    = text.LazyRegexp(`\b(?:return|yield|skip\w*|xfail|Skip\w*|exit|try|raises)\b`)
)

// falsifyClaims replaces the expected value in the first plain comparison of every test. It skips a
// test that could end before that line.
func (g *planner) falsifyClaims(text, file, module string) (string, []Mark) {
	lines := strings.Split(text, "\n")
	var marks []Mark
	for i := 0; i < len(lines) && len(marks) < maxClaimTests; i++ {
		def := pythonDef().FindStringSubmatch(strings.TrimRight(lines[i], "\r"))
		if def == nil || decorated(lines, i) {
			continue
		}
		at := claimLine(lines, i, def[1])
		if at < 0 {
			continue
		}
		key := fmt.Sprintf("python %s claims %s %08x", file, def[2], uint32(hashName(strings.Join(lines[i:at+1], "\n"))))
		token := g.number()
		lines[at] = replaceClaim(strings.TrimRight(lines[at], "\r"), token)
		marks = append(marks, Mark{Token: token, Key: key, Test: []string{module, "." + def[2]}, Claims: true})
		i = at
	}
	return strings.Join(lines, "\n"), marks
}

// decorated reports whether a decorator decides how often, or whether, a test runs.
func decorated(lines []string, def int) bool {
	return def > 0 && strings.HasPrefix(strings.TrimSpace(lines[def-1]), "@")
}

// claimLine returns the line of the first comparison that is a statement of the test itself, or -1
// if there is none or something before it may end the test.
func claimLine(lines []string, def int, indent string) int {
	body := ""
	for i := def + 1; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t\r")
		if line == "" {
			continue
		}
		own := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if body == "" {
			body = own
		}
		switch {
		case len(own) <= len(indent), claimDoubt().MatchString(line):
			return -1
		case own == body && splitClaim(line) != nil:
			return i
		}
	}
	return -1
}

// splitClaim splits a comparison into the text before the expected value, that value, and the text
// after it.
func splitClaim(line string) []string {
	for _, form := range []func() *regexp.Regexp{claimAssert, claimEqual, claimReversed} {
		if parts := form().FindStringSubmatch(line); parts != nil {
			return parts
		}
	}
	return nil
}

func replaceClaim(line, number string) string {
	parts := splitClaim(line)
	if !strings.HasPrefix(parts[2], "-") && strings.ContainsAny(parts[2], `'"`) {
		number = parts[2][:1] + number + parts[2][:1]
	}
	return parts[1] + number + parts[3]
}
