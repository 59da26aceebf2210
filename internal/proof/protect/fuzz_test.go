package protect

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
)

// FuzzSettings verifies that a section added at the end of any file either makes it unreadable or
// is seen, even if the file is broken or odd.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		"", "[a]\nb = 1\n", "a = \"\"\"\n[tool.pytest]\n\"\"\"\n", "a = [\n 1, # x\n]\n", "[[a]]\n'b' = { c = 1 }\n",
		"[a\n", "x", "[\"a]b\"]\n", "a = 'x\n", "[a]\n b\n  c\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []sectioned{pyproject, setupCfg, cargo, bunfig} {
			added := "\n[tool.pytest]\nx = 1\n[tool:pytest]\nx = 1\n[patch]\nx = 1\n[test]\nx = 1\n"
			if kind.differs(nil, []byte(text), []byte(text)) {
				continue // it cannot be parsed
			}
			if !kind.differs(nil, []byte(text), []byte(text+added)) {
				t.Errorf("%q hides what follows", text)
			}
		}
	})
}

func FuzzPattern(f *testing.F) {
	f.Add("tests/**", "tests/a")
	f.Add("*.golden", "a/b.golden")
	f.Add("!{a,b}", "b")
	f.Add(`\*`, "*")
	f.Fuzz(func(t *testing.T, glob, name string) {
		p, err := parsePattern(glob)
		if err != nil {
			if !strings.Contains(err.Error(), "read pattern ") {
				t.Errorf("%v does not name the pattern", err)
			}
			return
		}
		if p.matches(name) && !p.matches(name+"/below") && !strings.HasSuffix(name, "/") && name != "" {
			t.Errorf("%q matches %q and not what is below", glob, name)
		}
	})
}

// FuzzRust verifies that a file compared with itself has all its tests, and that separating them
// loses nothing.
func FuzzRust(f *testing.F) {
	f.Add("#[test] fn a() { '}' }")
	f.Add("#[cfg(test)] mod t { use a::{b}; #[test] fn x() {} } fn y<'a>() {}")
	f.Add("r#\"\"# /* /* */ */ b'\\'' #")
	f.Add("#![x] #[")
	f.Fuzz(func(t *testing.T, source string) {
		if rustTestsDiffer([]byte(source), []byte(source)) {
			t.Error("differs from itself")
		}
		product, tests := splitRustTests([]byte(source))
		if len(product)+len(tests) < len(source) {
			t.Errorf("%q and %q are less than %q", product, tests, source)
		}
		if len(source) > 0 && utf8.ValidString(source) &&
			rustTestsDiffer([]byte(source), []byte(source+"\nfn after() {}\n")) && !unfinished(source) {
			t.Errorf("%q: what is added behind it changes its tests", source)
		}
	})
}

// unfinished reports whether the source ends inside something, to which added text then belongs.
func unfinished(source string) bool {
	tokens, _ := rustTokens([]byte(source + "\nfn after() {}\n"))
	var tail []string
	for len(tokens) > 0 {
		item := rustItem(tokens)
		tail, tokens = item.tokens, tokens[item.size:]
	}
	return strings.Join(tail, " ") != "fn after ( ) { }"
}

func FuzzPackage(f *testing.F) {
	f.Add(`{"scripts": {"test": "a"}}`, `{"scripts": {"test": "a", "pretest": "b"}}`)
	f.Add(`{`, `[]`)
	f.Add(`{"imports": 1, "overrides": [{}]}`, `{"imports": {"#a": null}}`)
	f.Fuzz(func(t *testing.T, base, now string) {
		in := &inspection{}
		if _, err := readObject([]byte(base)); err == nil && packageDiffers(in, []byte(base), []byte(base)) {
			t.Errorf("%q differs from itself", base)
		}
		if _, err := readObject([]byte(now)); err != nil && !packageDiffers(in, []byte(base), []byte(now)) {
			t.Errorf("%q cannot be read and does not differ", now)
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add("a/b_test.go")
	f.Add("//x/../\xff")
	f.Fuzz(func(t *testing.T, name string) {
		test := (Rules{}).Test(name)
		if _, steers := steeringRule(name); steers && test {
			t.Errorf("%q is both", name)
		}
		_ = replacements([]ralph.FileChange{{Name: name, Kind: ralph.FileAdded}}, Sorted{
			Tampered: []ralph.FileChange{{Name: name, Kind: ralph.FileDeleted}},
		})
		for _, words := range simpleCommands(name) {
			if len(words) == 0 {
				t.Error("a command without words")
			}
		}
	})
}
