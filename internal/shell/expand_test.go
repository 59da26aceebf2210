package shell

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/needs"
)

// testScope knows variables, and not what commands print.
type testScope map[string]Value

func (s testScope) Variable(name string, _ bool) Value {
	if i, err := strconv.Atoi(name); err == nil {
		if items := s["@"].Items; i > 0 && i <= len(items) {
			return Value{Set: true, Items: items[i-1 : i]}
		}
		return Value{}
	}
	if name == "*" {
		name = "@"
	}
	if name == "UNKNOWN" {
		return Value{Set: true, Items: []string{Part{Kind: Parameter, Text: name}.mark()}}
	}
	return s[name]
}

func (s testScope) Assign(name string, v Value) { s[name] = v }

func (s testScope) Output(p Part) string { return p.mark() }

func newTestScope() testScope {
	one := func(text string) Value { return Value{Set: true, Items: []string{text}} }
	return testScope{
		"a": one("push --force"), "b": one("x.tar.gz"), "e": one(""), "s": one(" lead trail "), "n": one("7"), "i": one("b"),
		"l": {Set: true, Array: true, Items: []string{"one", "two words", ""}},
		"@": {Set: true, Array: true, Items: []string{"p 1", "p2", "p3"}},
	}
}

func texts(words []Word) []string {
	list := []string{}
	for _, w := range words {
		list = append(list, strings.NewReplacer(string(ParameterMark), "<", string(ParameterEnd), ">",
			string(OutputMark), "<output>").Replace(w.Text))
	}
	return list
}

// TestFieldsAreThoseOfTheShell asks a real one.
func TestFieldsAreThoseOfTheShell(t *testing.T) {
	bash := needs.Program(t, "bash")
	const setup = `set -f; a='push --force' b=x.tar.gz e= s=' lead trail ' n=7 i=b; l=(one 'two words' ''); unset u; `
	for _, text := range []string{
		`$a`, `"$a"`, `x$a`, `${a}y`, `x"$a"y`, `$e`, `"$e"`, `x$e`, `$u`, `"$u"`, `$s`, `x${s}y`, `"$s"`, `x$s`, `$s$s`,
		`${b%.gz}`, `${b%%.*}`, `${b#x.}`, `${b##*.}`, `${b/tar/zip}`, `${b//./ }`, `"${b//./ }"`, `${b:0:1}`, `${#b}`,
		`${b^^}`, `${u:-d}`, `${u-d}`, `${e:-d}`, `${e-d}`, `${u:+d}`, `${a:+d}`, `${e+d}`, `${e:+d}`, `${u:-x y}`,
		`"${u:-x y}"`, `${u:-$a}`, `"${u:-$a}"`, `${u:=v w}$u`, `${a:?no}`, `$((n+1))`, `x$((n*2))y`, `${!i}`,
		`$@`, `"$@"`, `$*`, `"$*"`, `x"$@"y`, `$1`, `"$1"`, `$2`, `${3}`, `$4`, `"${@:2}"`, `"${@:2:1}"`,
		`${l[@]}`, `"${l[@]}"`, `"${l[*]}"`, `$l`, `${l[1]}`, `"${l[1]}"`, `${#l[@]}`, `"${l[@]:1}"`, `"${l[@]/o/0}"`,
		`"${u[@]}"`, `a"$e"b`, `''$u`, `"$u"''`, `$'a\tb'$a`,
	} {
		script := setup + "set -- 'p 1' p2 p3; printf '%s\\0' " + text + " | cat; :"
		count := setup + "set -- 'p 1' p2 p3; f() { echo $#; }; f " + text
		out, err := exec.CommandContext(t.Context(), bash, "--norc", "-c", script).Output()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		number, err := exec.CommandContext(t.Context(), bash, "--norc", "-c", count).Output()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if strings.TrimSpace(string(number)) == "0" {
			want = []string{}
		}
		list, err := ParseBash("x " + text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var got []Word
		scope := newTestScope()
		for _, w := range list[0][0].Words[1:] {
			got = append(got, w.Fields(scope)...)
		}
		if diff := cmp.Diff(want, texts(got)); diff != "" {
			t.Errorf("%s (-shell +ours):\n%s", text, diff)
		}
	}
}

// TestUnknownStaysAMark has words that only a running shell can expand.
func TestUnknownStaysAMark(t *testing.T) {
	for text, want := range map[string][]string{
		`$UNKNOWN`: {"<UNKNOWN>"}, `x"$UNKNOWN"`: {"x<UNKNOWN>"}, `${UNKNOWN%.go}`: {"<UNKNOWN>"},
		`${UNKNOWN:-d}`: {"<UNKNOWN>"}, `${u:-$UNKNOWN}`: {"<UNKNOWN>"}, `$((UNKNOWN+1))`: {"<>"}, `${a@P}`: {"<a>"},
		`$(ls) x`: {"<output>", "x"}, `<(ls)`: {"<output>"}, `${u:-$(ls)}`: {"<output>"}, `${!u*}`: {"<>"}, `~x`: {"<~x>"},
		`${b#$(ls)}`: {"<b>"},
	} {
		list, err := ParseBash("x " + text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var got []Word
		for _, w := range list[0][0].Words[1:] {
			got = append(got, w.Fields(newTestScope())...)
		}
		if diff := cmp.Diff(want, texts(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestLooseWords(t *testing.T) {
	for text, want := range map[string]bool{
		`$UNKNOWN`: true, `"$UNKNOWN"`: false, `a$UNKNOWN`: true, `a"$UNKNOWN"`: false, `$a`: false, `$(ls)`: true,
		`"$(ls)"`: false, `a`: false,
	} {
		list, err := ParseBash("x " + text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := list[0][0].Words[1].Fields(newTestScope())[0].Loose(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestBranchesLoopsAndArrays(t *testing.T) {
	list, err := ParseBash("if a; then b; elif c; then d; else e; fi; case x in y) f;; *) g; h;; esac; " +
		"for v in 1 2; do i; done; j=(k $l 'm n')")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, branch := range append(list[0][0].Branches, list[1][0].Branches...) {
		got = append(got, outline(branch.Condition)+" ? "+outline(branch.Then))
	}
	got = append(got, list[2][0].Variable)
	for _, w := range list[3][0].Assigns[0].Elements {
		got = append(got, w.Constant())
	}
	want := []string{"a ? b", "c ? d", " ? e", " ? f", " ? g; h", "v", "k", "", "m n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrintf(t *testing.T) {
	for _, test := range []struct {
		format string
		args   []string
		want   string
	}{
		{"a b", nil, "a b"}, {"%s", []string{"--force"}, "--force"}, {"%s %s\\n", []string{"a", "b", "c", "d"}, "a b\nc d\n"},
		{`\x70ush`, nil, "push"}, {"x", []string{"ignored"}, "x"},
	} {
		if got, err := Printf(test.format, test.args); got != test.want || err != nil {
			t.Errorf("%q %q: %q, %v", test.format, test.args, got, err)
		}
	}
}

// expandAll expands every word of a command.
func expandAll(l List) {
	for _, pipe := range l {
		for _, c := range pipe {
			for _, w := range slices.Concat(c.Assigns, c.Words, c.Operands) {
				w.Fields(newTestScope())
				w.Expanded(newTestScope())
			}
			expandAll(c.Body)
			for _, inner := range c.Outputs() {
				expandAll(inner)
			}
		}
	}
}
