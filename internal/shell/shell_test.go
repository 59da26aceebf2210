package shell

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/needs"
)

// TestWordsAreThoseOfTheShell asks a real one.
func TestWordsAreThoseOfTheShell(t *testing.T) {
	shell := needs.Program(t, "bash")
	for _, text := range []string{
		`a b  c`, `'a b' "c d"`, `a'b'"c"d`, `a\ b \'c\' \"d\"`, `"a\"b" "a\\b" "a\nb" 'a\b'`, `"" '' a`, `pu""sh`, `su\do`,
		"a\\\nb c", "\"a\\\nb\"", `$'a\tb\n' $'\x41\102\u00e9' $'it\'s'`,
		`"a;b" 'c|d' e\&f`, `a#b '#c' "# d"`, `é "ü ö" \ä`, `--x="a b" -y'z'`, `{a,b"}"`, `"'" '"'`, `a=b c=(`[:3],
		`"a b"'c d'\ e`, `$"hello"`, `'' "" \\`,
	} {
		cmd := exec.CommandContext(t.Context(), shell, "--norc", "-c", "set -f; printf '%s\\0' "+text)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		l, err := ParseBash("x " + text)
		if err != nil || len(l) != 1 || len(l[0]) != 1 {
			t.Errorf("%q is %d commands: %v", text, len(l), err)
			continue
		}
		var got []string
		for _, w := range l[0][0].Words[1:] {
			got = append(got, w.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-shell +ours):\n%s", text, diff)
		}
	}
}

// outline writes what was understood of a command in one line.
func outline(l List) string {
	var pipes []string
	for _, pipe := range l {
		var commands []string
		for _, c := range pipe {
			commands = append(commands, outlineCommand(c))
		}
		pipes = append(pipes, strings.Join(commands, " | "))
	}
	return strings.Join(pipes, "; ")
}

func outlineCommand(c Command) string {
	var parts []string
	add := func(words ...Word) {
		for _, w := range words {
			text := strings.NewReplacer(string(ParameterMark), "$<", string(ParameterEnd), ">", string(OutputMark), "@").
				Replace(w.Text)
			for _, o := range w.Outputs {
				text += "<" + outline(o) + ">"
			}
			parts = append(parts, text)
		}
	}
	add(c.Assigns...)
	add(c.Words...)
	if c.Keyword != "" {
		parts = append(parts, c.Keyword)
		add(c.Operands...)
		parts = append(parts, "{"+outline(c.Body)+"}")
	}
	for _, r := range c.Redirects {
		add(r.Target)
		parts[len(parts)-1] = r.Operator + parts[len(parts)-1]
		if r.Operator == "<<" {
			add(r.Body)
			parts[len(parts)-1] = "[" + strings.ReplaceAll(parts[len(parts)-1], "\n", "/") + "]"
		}
	}
	if c.Background {
		parts = append(parts, "&")
	}
	if len(c.Functions) > 0 {
		parts = append(parts, "in:"+strings.Join(c.Functions, "/"))
	}
	return strings.Join(parts, " ")
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"a b | c; d && e || f & g":          "a b | c; d &; e &; f &; g",
		"a # b\nc":                          "a; c",
		"a >x 2>&1 <y >>z &>w":              "a >x >&1 <y >>z &>w",
		"a 2 > x":                           "a 2 >x",
		"a $(b; c) d`e`":                    "a @<b; c> d@<e>",
		"a \"$(b \"c d\")\"":                "a @<b c d>",
		"a <(b) >(c)":                       "a @<b> @<c>",
		"(a; b) | { c; }":                   "( {a; b} | { {c}",
		"f() { a | b & }; c":                "function f {{ {a & in:f | b & in:f} in:f}; c",
		"function f { a; }":                 "function f {{ {a in:f} in:f}",
		"f() { a; } >x && b | c || d & e":   "function f {{ {a in:f} >x in:f} &; b & | c &; d &; e",
		"f() { a; } | b":                    "function f {{ {a in:f} in:f} | b",
		"if a; then b; else c; fi":          "if {a; b; c}",
		"for x in a b; do c; done":          "for a b {c}",
		"for ((i=0; i<3; i++)); do a; done": "for i 0 i 3 i {a}",
		"case a in b) c;; (d|e) f;; esac":   "case a b d e {c; f}",
		"a <<E b\nx $(y)\nE\nc":             "a b <<E [x @/<y>]; c",
		"a <<'E'\nx $(y)\nE\nc":             "a <<E [x $(y)/]; c",
		"a <<-E\n\tx\n\tE\nc":               "a <<E [\tx/\t]; c",
		"a <<< b":                           "a <<<b",
		"a $x ${y:-$(z)} $((1+2)) $1 $ $":   "a $<x> $<y><z> $<> $<1> $ $",
		"a=(b $(c)); d":                     "a=<c>; d",
		"[[ a && b ]] && c":                 "[[ a b {}; c",
		"((a<b)) && c":                      "(( a b {}; c",
		"! time -p a":                       "a",
		"\n\n a \\\n b \n":                  "a b",
		"a{b,{c,d}} {1..3} {x":              "ab ac ad 1 2 3 {x",
		"while a; do b; done <x":            "while {a; b} <x",
		"export a=$(b) c":                   "export a=@<b> c",
		"a=b c+=d e":                        "a=b c+=d e",
		"coproc a; time b | c":              "{ {a}; b | c",
		"a $(($(b))) ${c[$(d)]} @(e|$(f))":  "a $<><b> $<c><d> @(e|$(f))<f>",
		"[[ a =~ $(b) ]]; let c=$(d)":       "[[ a @<b> {}; let c @<d> {}",
	} {
		l, err := ParseBash(text)
		if diff := cmp.Diff(want, outline(l)); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

// TestErrorsComeWithWhatIsBefore has texts that no shell takes.
func TestErrorsComeWithWhatIsBefore(t *testing.T) {
	for text, want := range map[string]string{
		"a;;b": "a", "a\nb (": "a", "a <<E\nx": "", "a; x=(": "a", "a 'b": "", "a\n()>o | sh": "a",
		"a; coproc exportf()' b ' > c": "a", "a\n" + strings.Repeat("(", openLimit+1): "a",
		strings.Repeat("$(", depthLimit+1) + strings.Repeat(")", depthLimit+1): "",
	} {
		l, err := ParseBash(text)
		if got := outline(l[:min(len(l), 1)]); err == nil || !strings.HasPrefix(got, want) {
			t.Errorf("%.20q: %q, %v", text, got, err)
		}
	}
}

// FuzzParse also reads what no shell takes: there is an answer for everything, and a quoted text is
// one word.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a", "()>o | sh", "a <<E\n$(b)\nE", "f() { a; }", "x=(a b) ${y:-$(z)} $((1+2)) {a,b}",
		"[[ a =~ b ]] && ((1))", "case a in b) c;; esac", "$'\\x41' \"a\\\"b\" c\\ d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		_, _ = Parse(text)
		commands, _ := ParseBash(text)
		expandAll(commands)
		Loose(text)
		if strings.ContainsAny(text, "\x00\r") || !utf8.ValidString(text) {
			return // no argument has a NUL; the parser drops \r before a line break, and takes only UTF-8
		}
		list, err := Parse(Quote(text))
		if err != nil || len(list) != 1 || len(list[0]) != 1 || len(list[0][0].Words) != 1 ||
			list[0][0].Words[0].Text != text {
			t.Errorf("%q became %+v: %v", text, list, err)
		}
	})
}
