package canary

import (
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

var (
	rustFunction = text.LazyRegexp(`^[ \t]*(?:pub(?:\([\w ]+\))? )?(?:async )?fn (\w+)\(\)[^{;]*\{`)
	rustModule   = text.LazyRegexp(`^[ \t]*(?:pub(?:\([\w ]+\))? )?mod (\w+) \{[ \t\r]*$`)
	rustAllow    = text.LazyRegexp(`^#\[allow\(`)
	rustAssert   = text.LazyRegexp(`^assert_eq!\(`)
	rustDoubt    = text.LazyRegexp(`\b(?:return|exit|catch_unwind)\b`)
)

// findRust returns the tests inside the source and the integration tests of all packages.
func (m *mutator) findRust() []candidate {
	var all []candidate
	for _, file := range m.files(func(name string) bool { return strings.HasSuffix(name, ".rs") }) {
		modules, ok := m.rustModules(file)
		text := m.search(file)
		if !ok || !rustTests().MatchString(text) {
			continue
		}
		all = append(all, rustNamed(file, modules, maskRust(text))...)
	}
	return unique(all)
}

// rustModules returns the modules that a file stands for, if it belongs to a package.
func (m *mutator) rustModules(file string) ([]string, bool) {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if m.taken[path.Join(dir, "Cargo.toml")] {
			inside := file
			if dir != "." {
				inside = strings.TrimPrefix(file, dir+"/")
			}
			return modulesOf(strings.Split(strings.TrimSuffix(inside, ".rs"), "/"))
		}
		if dir == "." || dir == "/" {
			return nil, false
		}
	}
}

// modulesOf returns the modules for the path of a file inside its package.
func modulesOf(parts []string) ([]string, bool) {
	switch {
	case len(parts) == 2 && parts[0] == "tests":
		return nil, true
	case len(parts) < 2 || parts[0] != "src":
		return nil, false
	case len(parts) == 2 && (parts[1] == "lib" || parts[1] == "main"), len(parts) == 3 && parts[1] == "bin":
		return nil, true
	}
	modules := parts[1:]
	if modules[len(modules)-1] == "mod" {
		modules = modules[:len(modules)-1]
	}
	return modules, len(modules) > 0
}

// rustNamed returns the tests of one file.
func rustNamed(file string, modules []string, s source) []candidate {
	var tests []candidate
	lines := linesOf(s.code)
	for i, line := range lines {
		function := rustFunction().FindStringSubmatchIndex(line.text)
		if function == nil {
			continue
		}
		isTest, plain := rustAttributes(lines, i)
		inner, ok := enclosing(lines, i, func(text string) string {
			if module := rustModule().FindStringSubmatch(text); module != nil {
				return module[1]
			}
			return ""
		})
		if !isTest || !ok {
			continue
		}
		name := append(slices.Clone(modules), append(inner, line.text[function[2]:function[3]])...)
		c := candidate{file: file, test: strings.Join(name, "::")}
		if plain {
			c.spots = rustSpots(s, line.at+function[1]-1)
		}
		tests = append(tests, c)
	}
	return tests
}

// rustAttributes reports whether a function is a test, and whether it is one without conditions.
func rustAttributes(lines []sourceLine, function int) (isTest, plain bool) {
	plain = true
	for i := function - 1; i >= 0; i-- {
		attribute := strings.TrimSpace(lines[i].text)
		switch {
		case attribute == "":
		case strings.HasPrefix(attribute, "#[") && rustTests().MatchString(attribute):
			isTest = true
			plain = plain && strings.Count(attribute, "#[") == 1
		case rustAllow().MatchString(attribute):
		case strings.HasPrefix(attribute, "#["), strings.HasSuffix(attribute, "]") && !strings.HasSuffix(attribute, ";"):
			plain = false
		default:
			return isTest, plain
		}
	}
	return isTest, plain
}

// rustSpots returns the literals that the function whose body opens at open compares.
func rustSpots(s source, open int) []spot {
	_, end := s.arguments(open)
	if end < 0 {
		return nil
	}
	var spots []spot
	body := span{open + 1, end - 1}
	doubt := s.first(rustDoubt(), body)
	for _, start := range s.statements(body) {
		call := rustAssert().FindString(s.code[start:end])
		if call == "" {
			continue
		}
		args, _ := s.arguments(start + len(call) - 1)
		if len(args) < 2 {
			continue
		}
		at, ok := s.compared(args[0], args[1])
		if !ok {
			continue
		}
		spots = append(spots, spot{span: at, certain: start < doubt, char: s.code[at.from] == '\''})
	}
	return spots
}
