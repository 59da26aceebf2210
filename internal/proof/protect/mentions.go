package protect

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// Mention is a line of a file.
type Mention struct{ Name, Line string }

// Finder returns the lines of some files of one side that contain one of the words.
type Finder func(ctx context.Context, which Side, names, words []string) ([]Mention, error)

// testPart is a changed file of the base that may belong to tests although its name does not say
// so. It does if tests mention it and nothing else does.
type testPart struct {
	change   ralph.FileChange
	word     string         // occurs in every mention
	pattern  *regexp.Regexp // matches a line that mentions it
	language string         // the language that mentions it; "" is any
}

// possibleParts finds files that may be parts of tests: data that tests compare with, and helpers
// that fail a test.
func (in *inspection) possibleParts(changes []ralph.FileChange) ([]testPart, error) {
	var found []testPart
	for _, change := range changes {
		if in.rules.base == nil {
			continue
		}
		switch {
		case change.Kind == ralph.FileAdded:
			// In another current folder, tests would read it instead of the data that has its name.
			if k, ok := in.dataPart(change); ok && in.isDouble(change.Name) {
				found = append(found, k)
			}
		case expectedData(change.Name):
			if k, ok := in.dataPart(change); ok {
				found = append(found, k)
			}
		case helperMark[ecosystems[path.Ext(change.Name)]] != nil:
			text, err := in.content(Base, change.Name)
			if err != nil {
				return nil, err
			}
			if k, is := helperPart(change, text); is {
				found = append(found, k)
			}
		}
	}
	return found, nil
}

// dataFormats are written by people or programs and read by both. Documentation is left out: tests
// that mention it accept any content.
var dataFormats = []string{
	".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".yaml", ".yml", ".toml", ".xml", ".html", ".dat",
	".bin", ".out", ".expected", ".sql", ".svg", ".png", ".pdf", ".log", ".in",
}

// productFolders hold files that the product serves or is configured by, which tests may well read.
var productFolders = []string{
	"src", "lib", "app", "public", "static", "assets", "config", "conf", "locales", "i18n", "migrations",
	"templates", "docs", "doc", ".github",
}

func expectedData(name string) bool {
	if slices.Contains(dependencyFiles, path.Base(name)) || strings.HasPrefix(path.Base(name), ".") ||
		!slices.Contains(dataFormats, path.Ext(name)) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(folder string) bool {
		return slices.Contains(productFolders, folder)
	})
}

// isDouble reports whether data has the name of other data at the base.
func (in *inspection) isDouble(name string) bool {
	return in.rules.base.baseNames[path.Base(name)] > 0 && slices.Contains(dataFormats, path.Ext(name)) &&
		!slices.Contains(dependencyFiles, path.Base(name)) && !usualName().MatchString(path.Base(name))
}

// usualName matches names of data that many folders have.
var usualName = text.LazyRegexp(`(?i)^(?:(?:ts)?config|settings|index|main|app|manifest|default|package|data)\b`)

// dataPart is mentioned by its name, and also by its folder if other files share the name.
func (in *inspection) dataPart(change ralph.FileChange) (testPart, bool) {
	base, folder := path.Base(change.Name), path.Base(path.Dir(change.Name))
	pattern := `(^|[^\w.-])` + regexp.QuoteMeta(base) + `($|[^\w.-]|\.$)`
	if in.rules.base.baseNames[base] > 1 && folder != "." {
		pattern = `\b` + regexp.QuoteMeta(folder) + `\b.*` + pattern
	}
	is, err := regexp.Compile(pattern)
	// a name that is not valid text is in no source either
	return testPart{change: change, word: base, pattern: is}, err == nil
}

// helperMark matches code that only test helpers contain.
var helperMark = map[ecosystem]func() *regexp.Regexp{
	golang: text.LazyRegexp(`\*testing\.[TBF]\b|\btesting\.TB\b`),
	python: text.LazyRegexp(`\bAssertionError\b|(?m)^\s*(import|from) +(pytest|unittest|hamcrest|assertpy)\b`),
	script: text.LazyRegexp(
		`(require\(|from )\s*['"](node:)?(assert(/strict)?|test|chai|expect|vitest|@jest/globals|should|power-assert)['"]`,
	),
}

// helperPart is mentioned where it is imported.
func helperPart(change ralph.FileChange, text []byte) (testPart, bool) {
	kind := ecosystems[path.Ext(change.Name)]
	if !helperMark[kind]().Match(text) {
		return testPart{}, false
	}
	folder, base := path.Split(change.Name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	if kind == golang || stem == "index" || stem == "__init__" {
		if stem = path.Base(path.Clean(folder)); stem == "." {
			return testPart{}, false // it belongs to the product's own package
		}
	}
	word := regexp.QuoteMeta(stem)
	pattern := map[ecosystem]string{
		golang: `/` + word + `"`,
		python: `\b(import|from)\b.*\b` + word + `\b`,
		script: `/` + word + `(/index)?(\.[cm]?[jt]sx?)?['"` + "`" + `]`,
	}[kind]
	is, err := regexp.Compile(pattern)
	return testPart{change: change, word: stem, pattern: is, language: string(kind)}, err == nil
}

// findTestParts finds out which of the changed files belong to tests although their names do not
// say so.
func (in *inspection) findTestParts(changes []ralph.FileChange) error {
	unknown := slices.DeleteFunc(slices.Clone(changes), func(change ralph.FileChange) bool {
		_, steers := steeringRule(change.Name)
		return steers || testName(change.Name)
	})
	// A file is part of tests if a test of the base mentions it and nothing else does except
	// documentation. A file that the product also needs belongs to the product.
	candidates, err := in.possibleParts(unknown)
	for _, tests := range []bool{true, false} {
		if err == nil && len(candidates) > 0 {
			candidates, err = in.filterMentioned(candidates, tests)
		}
	}
	if err != nil {
		return fmt.Errorf("find what tests mention: %w", err)
	}
	in.testParts = map[string]bool{}
	for _, k := range candidates {
		in.testParts[k.change.Name] = true
	}
	return nil
}

// filterMentioned keeps the candidates that a test mentions or, for byTests false, the ones that
// nothing else mentions. The second question reads the whole tree, but few projects get that far.
func (in *inspection) filterMentioned(candidates []testPart, byTests bool) ([]testPart, error) {
	var words []string
	for _, k := range candidates {
		words = append(words, k.word)
	}
	var names []string
	for _, name := range in.rules.base.names {
		if canMention(name) && isTest(name) == byTests {
			names = append(names, name)
		}
	}
	lines, err := in.trees.Find(in.ctx, Base, names, words)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(candidates, func(k testPart) bool {
		known := slices.ContainsFunc(lines, func(m Mention) bool {
			return m.Name != k.change.Name &&
				(k.language == "" || string(ecosystems[path.Ext(m.Name)]) == k.language || !byTests) &&
				k.pattern.MatchString(m.Line)
		})
		return known != byTests
	}), nil
}

// isTest reports whether a file is a test, or code that sets tests up.
func isTest(name string) bool {
	_, steers := steeringRule(name)
	return testName(name) || steers && ecosystems[path.Ext(name)] != ""
}

// canMention reports whether a mention in a file counts: code does, and lists of what belongs to a
// product.
func canMention(name string) bool {
	switch path.Ext(name) {
	case ".json", ".toml", ".yaml", ".yml", ".cfg", ".in", ".mk", ".gradle", ".xml", ".html", ".css", "":
		return !slices.Contains(dependencyFiles, path.Base(name))
	}
	return ecosystems[path.Ext(name)] != ""
}
