package hooks

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWordsAreThoseOfTheShell asks a real one.
func TestWordsAreThoseOfTheShell(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to ask")
	}
	for _, text := range []string{
		`a b  c`, `'a b' "c d"`, `a'b'"c"d`, `a\ b \'c\' \"d\"`, `"a\"b" "a\\b" "a\nb" 'a\b'`, `"" '' a`, `pu""sh`, `su\do`, "a\\\nb c", "\"a\\\nb\"", `$'a\tb\n' $'\x41\102\u00e9' $'it\'s'`,
		`"a;b" 'c|d' e\&f`, `a#b '#c' "# d"`, `é "ü ö" \ä`, `--x="a b" -y'z'`, `{a,b"}"`, `"'" '"'`, `a=b c=(`[:3], `"a b"'c d'\ e`, `$"hello"`, `'' "" \\`,
	} {
		cmd := exec.CommandContext(t.Context(), shell, "--norc", "-c", "set -f; printf '%s\\0' "+text)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		l := parse("x " + text)
		if len(l) != 1 || len(l[0]) != 1 {
			t.Errorf("%q is %d commands", text, len(l))
			continue
		}
		var got []string
		for _, w := range l[0][0].words[1:] {
			got = append(got, w.text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-shell +ours):\n%s", text, diff)
		}
	}
}

// outline writes what was understood of a command in one line.
func outline(l list) string {
	var pipes []string
	for _, pipe := range l {
		var stages []string
		for _, s := range pipe {
			var parts []string
			for _, w := range s.words {
				text := strings.NewReplacer(string(parameterMark), "$<", string(parameterEnd), ">", string(outputMark), "@").Replace(w.text)
				for _, o := range w.outputs {
					text += "<" + outline(o) + ">"
				}
				parts = append(parts, text)
			}
			for _, r := range s.redirects {
				text := r.operator + r.target.text
				if r.body != "" {
					text += "[" + strings.ReplaceAll(r.body, "\n", "/") + "]"
				}
				for _, o := range r.target.outputs {
					text += "<" + outline(o) + ">"
				}
				parts = append(parts, text)
			}
			if s.group != nil {
				parts = append(parts, "{"+outline(s.group)+"}")
			}
			if s.background {
				parts = append(parts, "&")
			}
			if len(s.inside) > 0 {
				parts = append(parts, "in:"+strings.Join(s.inside, "/"))
			}
			stages = append(stages, strings.Join(parts, " "))
		}
		pipes = append(pipes, strings.Join(stages, " | "))
	}
	return strings.Join(pipes, "; ")
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"a b | c; d && e || f & g":          "a b | c; d; e; f &; g",
		"a # b\nc":                          "a; c",
		"a >x 2>&1 <y >>z &>w":              "a >x >&1 <y >>z &>w",
		"a 2 > x":                           "a 2 >x",
		"a $(b; c) d`e`":                    "a @<b; c> d@<e>",
		"a \"$(b \"c d\")\"":                "a @<b c d>",
		"a <(b) >(c)":                       "a @<b> @<c>",
		"(a; b) | { c; }":                   "{a in:; b in:} | {c in:}",
		"f() { a | b & }; c":                "{a & in:f | b & in:f}; c",
		"function f { a; }":                 "{a in:f}",
		"if a; then b; else c; fi":          "a; b; c",
		"for x in a b; do c; done":          "for x in a b; c",
		"for ((i=0; i<3; i++)); do a; done": "for; a",
		"case a in b) c;; (d|e) f;; esac":   "case case a in b; c; f",
		"a <<E b\nx $(y)\nE\nc":             "a b <<E[x $(y)/]<y>; c",
		"a <<'E'\nx $(y)\nE\nc":             "a <<E[x $(y)/]; c",
		"a <<-E\n\tx\n\tE\nc":               "a <<E[x/]; c",
		"a <<E\nx":                          "a <<E[x/]",
		"a <<< b":                           "a <<<b",
		"a $x ${y:-$(z)} $((1+2)) $1 $ $":   "a $<x> $<y><z> $<((> $<1> $ $",
		"a=(b c) d":                         "a= d",
		"[[ a && b ]] && c":                 "[[; c",
		"((a<b)) && c":                      "c",
		"! time -p a":                       "a",
		"a;;b":                              "a; b",
		"\n\n a \\\n b \n":                  "a b",
	} {
		if diff := cmp.Diff(want, outline(parse(text))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
