package shell

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asserted returns the words that scripts assert.
func asserted(scripts ...string) [][]string {
	var list []Script
	for i, text := range scripts {
		list = append(list, Script{Text: text, Program: i == 0})
	}
	words := make([][]string, len(scripts))
	for i, found := range Assertions(list) {
		for _, a := range found {
			words[i] = append(words[i], scripts[i][a.From:a.To])
		}
	}
	return words
}

func TestAssertions(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		want   []string
	}{
		"or":               {`[ "$(slug 'A b')" = a-b ] || exit 1`, []string{"a-b"}},
		"or without end":   {`[ "$(slug 'A b')" = a-b ] || echo "not right"`, nil},
		"or, then fail":    {`[ "$(slug x)" = "a-b" ] || { echo no; exit 1; }`, []string{`"a-b"`}},
		"literal first":    {`test a-b = "$(slug x)" || exit 1`, []string{"a-b"}},
		"last":             {"x=$(slug x)\n[ \"$x\" = 'a-b' ]", []string{"'a-b'"}},
		"not last":         {"[ \"$x\" = 'a-b' ]\necho done", nil},
		"errexit":          {"set -eu\n[ \"$x\" = 'a-b' ]\necho done", []string{"'a-b'"}},
		"errexit off":      {"set -e\nset +e\n[ \"$x\" = 'a-b' ]\necho done", nil},
		"errexit by name":  {"set -o errexit\n[ \"$x\" = y ]\necho done", []string{"y"}},
		"no option":        {"set -- -e\n[ \"$x\" = y ]\necho done", nil},
		"errexit and":      {"set -e\n[ \"$x\" = y ] && echo z\necho done", nil},
		"errexit and last": {"set -e\nmake && [ \"$x\" = y ]\necho done", []string{"y"}},
		"errexit not":      {"set -e\n! [ \"$x\" != y ]\necho done", nil},
		"nested failure":   {"if [ \"$x\" != y ]; then go vet ./... || exit 1; fi", nil},
		"other variable":   {"[ \"$x\" = y ] || quiet=1", nil},
		"counted":          {"[ \"$x\" = y ] || failed=1\nexit $failed", []string{"y"}},
		"other name":       {"if [ \"$x\" != y ]; then ./test_errors.sh; fi", nil},
		"numbers":          {"same() { if [ \"$1\" -ne \"$2\" ]; then exit 1; fi; }\n./p\nsame $? 0", []string{"0"}},
		"alternatives":     {"has() { echo \"$1\" | grep -qE \"$2\" || exit 1; }\nhas \"$x\" 'a|b'", nil},
		"after a skip":     {"[ -f x ] || exit 0\n[ \"$x\" = y ] || exit 1", nil},
		"after a bare end": {"[ -f x ] || exit\n[ \"$x\" = y ] || exit 1", nil},
		"unknown loop":     {"for f in *.none; do [ \"$(slug $f)\" = y ] || exit 1; done", nil},
		"while":            {"while read -r a; do [ \"$a\" = y ] || exit 1; done <cases", nil},
		"shift two": {
			"eq() {\n  shift 2\n  [ \"$1\" = \"$2\" ] || exit 1\n}\neq title cmd \"$x\" want", []string{"want"},
		},
		"if unequal":       {`if [ "$x" != y ]; then echo no; exit 1; fi; echo ok`, []string{"y"}},
		"if equal":         {`if [ "$x" = y ]; then echo yes; exit 1; fi; echo ok`, nil},
		"if else":          {`if [ "$x" = y ]; then echo ok; else failed=1; fi; exit $failed`, []string{"y"}},
		"if not equal":     {`if ! [ "$x" = y ]; then exit 1; fi`, []string{"y"}},
		"must differ":      {`[ "$x" != y ] || exit 1`, nil},
		"and fail":         {`[ "$x" != y ] && exit 1; echo ok`, []string{"y"}},
		"number":           {`[ "$(count)" -eq 3 ] || exit 1`, []string{"3"}},
		"bash":             {`[[ $(slug x) == "y z" ]] || exit 1`, []string{`"y z"`}},
		"pattern":          {`[[ $(slug x) == y* ]] || exit 1`, nil},
		"both constant":    {`[ a = b ] || exit 1`, nil},
		"neither constant": {`[ "$a" = "$b" ] || exit 1`, nil},
		"grep":             {`slug x | grep -q '^a-b$' || exit 1`, []string{"'^a-b$'"}},
		"grep of nothing":  {`slug x | grep -qv a || exit 1`, nil},
		"grep of two":      {`slug x | grep -qE 'a|b' || exit 1`, nil},
		"after the end":    {"exit 0\n[ \"$x\" = y ] || exit 1", nil},
		"in a branch":      {`if [ -n "$CI" ]; then [ "$x" = y ] || exit 1; fi`, nil},
		"in a loop":        {`for a in 1 2; do [ "$(slug $a)" = y ] || exit 1; done`, []string{"y"}},
		"several":          {`[ "$a" = 1x ] && [ "$b" = 2x ] || exit 1`, []string{"1x", "2x"}},
		"function":         {"same() { [ \"$1\" = \"$2\" ] || exit 1; }\nsame \"$(slug x)\" y\necho ok", []string{"y"}},
		"function counts": {
			"check() {\n  got=$(slug \"$1\")\n" +
				"  if [ \"$got\" != \"$2\" ]; then failed=$((failed + 1)); fi\n}\n" +
				"check 'A b' a-b\nexit $failed",
			[]string{"a-b"},
		},
		"function returns":         {"same() { [ \"$1\" = \"$2\" ]; }\nsame \"$(slug x)\" y || exit 1", []string{"y"}},
		"function returns to none": {"same() { [ \"$1\" = \"$2\" ]; }\nsame \"$(slug x)\" y\necho ok", nil},
		"function shifts": {
			"is() {\n  local want=$1\n  shift\n  [ \"$(\"$@\")\" = \"$want\" ] || die wrong\n" +
				"}\nis a-b slug 'A b'\necho ok",
			[]string{"a-b"},
		},
		"function calls": {
			"die() { echo \"$1\"; exit 1; }\nsame() { [ \"$1\" = \"$2\" ] || die no; }\n" +
				"slugs() { same \"$(slug \"$1\")\" \"$2\"; }\nslugs 'A b' a-b\necho ok",
			[]string{"a-b"},
		},
		"recursion":    {"same() { same \"$1\"; [ \"$1\" = y ] || same; }\nsame x", nil},
		"no script":    {"if then (((", nil},
		"here":         {"cat <<END\n[ \"$x\" = y ] || exit 1\nEND\n", nil},
		"a background": {`[ "$x" = y ] || exit 1 &`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, asserted(test.script)[0]); diff != "" {
				t.Errorf("%s\n%s", test.script, diff)
			}
		})
	}
}

func TestStarted(t *testing.T) {
	for script, want := range map[string][]string{
		"sh tests/a.sh && . ./b.sh || source c.sh":                      {"tests/a.sh", "./b.sh"},
		"sh \"tests/a.sh\"\nif bash tests/b.sh; then sh tests/c.sh; fi": {"tests/a.sh", "tests/b.sh"},
		"for f in tests/*.sh; do if sh \"$f\"; then echo ok; fi; done":  {"tests/*.sh"},
		"for f in tests/*.sh; do chmod +x \"$f\"; done":                 nil,
		"echo sh tests/a.sh; shellcheck tests/a.sh":                     nil,
		"run sh tests/run.sh":                                           {"tests/run.sh"},
		"./tests/a.sh":                                                  {"./tests/a.sh"},
	} {
		if diff := cmp.Diff(want, Started(script)); diff != "" {
			t.Errorf("%s\n%s", script, diff)
		}
	}
}

func TestFunctionsThatAreDefinedTwiceAreUnknown(t *testing.T) {
	got := asserted("same() { [ \"$1\" = \"$2\" ] || exit 1; }\nsame \"$x\" y", "same() { :; }")
	if diff := cmp.Diff([][]string{nil, nil}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAssertionsOfFunctionsElsewhere(t *testing.T) {
	got := asserted(". ./same.sh\nsame \"$(slug x)\" y", "same() {\n if [ \"$1\" != \"$2\" ]; then echo no; exit 1; fi\n}")
	if diff := cmp.Diff([][]string{{"y"}, nil}, got); diff != "" {
		t.Error(diff)
	}
}
