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

// Finder gives the lines of some files of one side in which one of the words occurs.
type Finder func(ctx context.Context, which Side, names, words []string) ([]Mention, error)

// kin is a changed file of the base that no name tells to be a part of tests. It is one if tests mention it and nothing else does.
type kin struct {
	change ralph.FileChange
	word   string         // that every mention has in it
	is     *regexp.Regexp // a line that mentions it
	speaks string         // the language that mentions it; "" is any
}

// kinOf finds the files whose part is told by who mentions them: data that tests compare with, and helpers that fail a test.
func (in *inspection) kinOf(changes []ralph.FileChange) ([]kin, error) {
	var found []kin
	for _, change := range changes {
		if change.Kind == ralph.FileAdded || in.rules.base == nil {
			continue
		}
		switch {
		case expectedData(change.Name):
			if k, ok := in.dataKin(change); ok {
				found = append(found, k)
			}
		case helperMark[ecosystems[path.Ext(change.Name)]] != nil:
			text, err := in.content(Base, change.Name)
			if err != nil {
				return nil, err
			}
			if k, is := helperKin(change, text); is {
				found = append(found, k)
			}
		}
	}
	return found, nil
}

// dataFormats are written by people or programs and read by both. Documentation is left out: tests that mention it are glad of any.
var dataFormats = []string{
	".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".yaml", ".yml", ".toml", ".xml", ".html", ".dat", ".bin", ".out", ".expected", ".sql", ".svg", ".png", ".pdf", ".log", ".in",
}

// productFolders hold what the product serves or is configured by, which tests may well read.
var productFolders = []string{"src", "lib", "app", "public", "static", "assets", "config", "conf", "locales", "i18n", "migrations", "templates", "docs", "doc", ".github"}

func expectedData(name string) bool {
	if slices.Contains(dependencyFiles, path.Base(name)) || strings.HasPrefix(path.Base(name), ".") || !slices.Contains(dataFormats, path.Ext(name)) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(folder string) bool { return slices.Contains(productFolders, folder) })
}

// dataKin is mentioned by its name, and by its folder too if it shares that name.
func (in *inspection) dataKin(change ralph.FileChange) (kin, bool) {
	base, folder := path.Base(change.Name), path.Base(path.Dir(change.Name))
	pattern := `(^|[^\w.-])` + regexp.QuoteMeta(base) + `($|[^\w.-]|\.$)`
	if in.rules.base.baseNames[base] > 1 && folder != "." {
		pattern = `\b` + regexp.QuoteMeta(folder) + `\b.*` + pattern
	}
	is, err := regexp.Compile(pattern)
	return kin{change: change, word: base, is: is}, err == nil // a name that is no text is in no source either
}

// helperMark is what only code says that has to do with tests.
var helperMark = map[ecosystem]func() *regexp.Regexp{
	golang: text.LazyRegexp(`\*testing\.[TBF]\b|\btesting\.TB\b`),
	python: text.LazyRegexp(`\bAssertionError\b|(?m)^\s*(import|from) +(pytest|unittest|hamcrest|assertpy)\b`),
	script: text.LazyRegexp(`(require\(|from )\s*['"](node:)?(assert(/strict)?|test|chai|expect|vitest|@jest/globals|should|power-assert)['"]`),
}

// helperKin is mentioned where it is imported.
func helperKin(change ralph.FileChange, text []byte) (kin, bool) {
	kind := ecosystems[path.Ext(change.Name)]
	if !helperMark[kind]().Match(text) {
		return kin{}, false
	}
	folder, base := path.Split(change.Name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	if kind == golang || stem == "index" || stem == "__init__" {
		if stem = path.Base(path.Clean(folder)); stem == "." {
			return kin{}, false // of the product's own package
		}
	}
	word := regexp.QuoteMeta(stem)
	pattern := map[ecosystem]string{
		golang: `/` + word + `"`,
		python: `\b(import|from)\b.*\b` + word + `\b`,
		script: `/` + word + `(/index)?(\.[cm]?[jt]sx?)?['"` + "`" + `]`,
	}[kind]
	is, err := regexp.Compile(pattern)
	return kin{change: change, word: stem, is: is, speaks: string(kind)}, err == nil
}

// lookForKin finds out which of the changed files that have no telling name are parts of tests.
func (in *inspection) lookForKin(changes []ralph.FileChange) error {
	unknown := slices.DeleteFunc(slices.Clone(changes), func(change ralph.FileChange) bool {
		_, steers := steeringRule(change.Name)
		return steers || testName(change.Name)
	})
	// A part of tests is what a test of the base mentions, and nothing else but documentation. What the product needs too is the product's.
	candidates, err := in.kinOf(unknown)
	for _, tests := range []bool{true, false} {
		if err == nil && len(candidates) > 0 {
			candidates, err = in.mentioned(candidates, tests)
		}
	}
	if err != nil {
		return fmt.Errorf("look what tests mention: %w", err)
	}
	in.kin = map[string]bool{}
	for _, k := range candidates {
		in.kin[k.change.Name] = true
	}
	return nil
}

// mentioned leaves the candidates that a test mentions or, of those, the ones that nothing else does. Few projects come to the second question,
// which takes a look at all that there is.
func (in *inspection) mentioned(candidates []kin, byTests bool) ([]kin, error) {
	var words []string
	for _, k := range candidates {
		words = append(words, k.word)
	}
	var names []string
	for _, name := range in.rules.base.names {
		if speaks(name) && isTest(name) == byTests {
			names = append(names, name)
		}
	}
	lines, err := in.trees.Find(in.ctx, Base, names, words)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(candidates, func(k kin) bool {
		known := slices.ContainsFunc(lines, func(m Mention) bool {
			return m.Name != k.change.Name && (k.speaks == "" || string(ecosystems[path.Ext(m.Name)]) == k.speaks || !byTests) && k.is.MatchString(m.Line)
		})
		return known != byTests
	}), nil
}

// isTest says whether a file is a test, or code that sets tests up.
func isTest(name string) bool {
	_, steers := steeringRule(name)
	return testName(name) || steers && ecosystems[path.Ext(name)] != ""
}

// speaks says whether a mention in a file means something: code does, and lists of what belongs to a product.
func speaks(name string) bool {
	switch path.Ext(name) {
	case ".json", ".toml", ".yaml", ".yml", ".cfg", ".in", ".mk", ".gradle", ".xml", ".html", ".css", "":
		return !slices.Contains(dependencyFiles, path.Base(name))
	}
	return ecosystems[path.Ext(name)] != ""
}
