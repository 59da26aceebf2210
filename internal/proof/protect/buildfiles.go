package protect

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

var (
	xmlComment = text.LazyRegexp(`(?s)<!--.*?-->`)
	pomPlugin  = text.LazyRegexp(`(?s)<plugin>.*?</plugin>`)
	pomTests   = text.LazyRegexp(`surefire|failsafe|skipTests|skipITs|maven\.test|testFailureIgnore|jacoco`)
	pomSetting = text.LazyRegexp(
		`<(skipTests|skipITs|maven\.test\.[\w.]+|testSourceDirectory|testFailureIgnore|` +
			`surefire\.[\w.]+|failsafe\.[\w.]+|argLine)>[^<]*`,
	)
)

// pomDiffers compares the plugins and properties that run tests. Changes to dependencies are
// allowed.
func pomDiffers(_ *inspection, base, now []byte) bool {
	return !wellFormed(now) || partsDiffer(base, now, func(text string) []string {
		text = xmlComment().ReplaceAllString(text, "")
		settings := pomSetting().FindAllString(text, -1)
		for _, plugin := range pomPlugin().FindAllString(text, -1) {
			if pomTests().MatchString(plugin) {
				settings = append(settings, collapseSpaces(plugin))
			}
		}
		return settings
	})
}

// partsDiffer compares a part of two files.
func partsDiffer(base, now []byte, part func(text string) []string) bool {
	return !slices.Equal(part(string(base)), part(string(now)))
}

// trimmedLines returns the lines of a text that keep accepts, trimmed.
func trimmedLines(text string, keep func(line string) bool) []string {
	var kept []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); keep(line) {
			kept = append(kept, line)
		}
	}
	return kept
}

func collapseSpaces(text string) string { return strings.Join(strings.Fields(text), " ") }

// wellFormed reports whether XML can be parsed. An empty file can.
func wellFormed(data []byte) bool {
	decoder := xml.NewDecoder(bytes.NewReader(data))
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	for {
		if _, err := decoder.RawToken(); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

var (
	gradleHonest = text.LazyRegexp(
		`^(dependencies|repositories|plugins|buildscript|publishing|group|version|description|import)\b`,
	)
	gradleSteering = text.LazyRegexp(`(?i)test|ignoreFailures|onlyIf|taskGraph|enabled\s*=|\.enabled|exclude|apply`)
)

// gradleDiffers compares the statements that affect tests. Changes to dependencies, plugins and
// versions are allowed.
func gradleDiffers(_ *inspection, base, now []byte) bool {
	return partsDiffer(base, now, func(text string) (kept []string) {
		for _, statement := range braced(withoutComments(text)) {
			if !gradleHonest().MatchString(statement) && gradleSteering().MatchString(statement) {
				kept = append(kept, collapseSpaces(statement))
			}
		}
		return kept
	})
}

// braced splits a text into lines, and keeps bracketed text together with the line that opens the
// bracket.
func braced(text string) []string {
	var statements []string
	var current strings.Builder
	depth := 0
	for line := range strings.Lines(text) {
		current.WriteString(line)
		depth += strings.Count(line, "{") + strings.Count(line, "(") - strings.Count(line, "}") - strings.Count(line, ")")
		if depth > 0 {
			continue
		}
		depth = 0
		if statement := strings.TrimSpace(current.String()); statement != "" {
			statements = append(statements, statement)
		}
		current.Reset()
	}
	if statement := strings.TrimSpace(current.String()); statement != "" {
		statements = append(statements, statement)
	}
	return statements
}

// commentOrQuote matches a comment, or a quoted string, which ends with its line at the latest.
var commentOrQuote = text.LazyRegexp(`"(?:\\[^\n]|[^"\n])*"?|'[^'\n]*'?|//[^\n]*|/\*(?s:.*?)(?:\*/|\z)`)

// withoutComments removes // and /* */ comments, but not inside quotes, such as in a URL.
func withoutComments(text string) string {
	return commentOrQuote().ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '/' {
			return ""
		}
		return found
	})
}

// quotedText reads a quoted string at the beginning of a text, and returns its length including the
// quotes.
func quotedText(text string) (inner string, size int) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == text[0]:
			return b.String(), i + 1
		case text[i] == '\\' && text[0] != '\'' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), len(text)
}

var projectHonest = text.LazyRegexp(
	`<(PackageReference|ProjectReference|FrameworkReference|TargetFrameworks?|Version|Authors|Description|` +
		`Nullable|ImplicitUsings|LangVersion)\b`,
)

// projectDiffers compares the lines of a .NET project file that affect what is compiled and run,
// without references and versions.
func projectDiffers(_ *inspection, base, now []byte) bool {
	return !wellFormed(now) || partsDiffer(base, now, func(text string) []string {
		return trimmedLines(xmlComment().ReplaceAllString(text, ""), func(line string) bool {
			return !projectHonest().MatchString(line) && projectSteering().MatchString(line)
		})
	})
}

var projectSteering = text.LazyRegexp(`(?i)test|remove=|<target\b|<exec\b|<import\b|condition=|<compile\b`)

var (
	mixSteering   = text.LazyRegexp(`test|aliases|preferred_cli|elixirc_paths`)
	mixDependency = text.LazyRegexp(`^[\[\s]*\{:\w+,`)
)

// mixDiffers compares the lines of a mix.exs file that affect tests, except dependencies.
func mixDiffers(_ *inspection, base, now []byte) bool {
	return partsDiffer(base, now, func(text string) (kept []string) {
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
			if mixSteering().MatchString(line) && !mixDependency().MatchString(line) {
				kept = append(kept, line)
			}
		}
		return kept
	})
}

// listings are test files that only list tests. Lines that match may be added for new tests.
var listings = []struct {
	glob string // of the file's own name
	line func() *regexp.Regexp
}{
	{
		"CMakeLists.txt",
		text.LazyRegexp(`^\s*((add_executable|add_test|add_library|add_subdirectory|target_link_libraries|` +
			`target_sources|target_include_directories|gtest_discover_tests|catch_discover_tests)\s*\([^()]*\)|` +
			`[\w./-]+\.(c|cc|cpp|cxx|h|hpp)|#.*)?\s*$`),
	},
	{"meson.build", text.LazyRegexp(`^\s*(\w+\s*=\s*executable\(.*\)|test\(.*\)|'[\w./-]+\.(c|cc|cpp)',?|#.*)?\s*$`)},
	{"*.rs", text.LazyRegexp(`^\s*(pub(\([a-z]+\))?\s+)?mod\s+\w+;\s*$|^\s*$`)},
}

// onlyListed reports whether a test file only gained entries for new tests.
func (in *inspection) onlyListed(change ralph.FileChange) (bool, error) {
	if change.Kind != ralph.FileChanged {
		return false, nil
	}
	for _, listing := range listings {
		if is, _ := path.Match(listing.glob, path.Base(change.Name)); !is {
			continue
		}
		differs, err := in.compare(change, func(base, now []byte) bool { return !grewBy(base, now, listing.line()) })
		return !differs && err == nil, err
	}
	return false, nil
}

// grewBy reports whether every line of base is still there, in order, and every other line matches
// kind.
func grewBy(base, now []byte, kind *regexp.Regexp) bool {
	old := strings.Split(string(base), "\n")
	for line := range strings.SplitSeq(string(now), "\n") {
		switch {
		case len(old) > 0 && line == old[0]:
			old = old[1:]
		case !kind.MatchString(line):
			return false
		}
	}
	return len(old) == 0 || len(old) == 1 && old[0] == ""
}
