package verify

import (
	"strings"
	"testing"
)

func environment(name string) (string, bool) {
	value, ok := map[string]string{"HOME": "/home/me", "GO": "go1.26", "RUN": "npm run", "BLANK": " "}[name]
	return value, ok
}

func TestFirstWord(t *testing.T) {
	type answer struct {
		word    string
		certain bool
	}
	sure := func(word string) answer { return answer{word, true} }
	unsure := answer{"", false}
	cases := []struct {
		command string
		want    answer
	}{
		{"go test ./...", sure("go")},
		{"  \n\tgo test", sure("go")},
		{"# comment\ngo test", sure("go")},
		{"\\\ngo test", sure("go")},
		{"go", sure("go")},
		{"go;true", sure("go")},
		{"go&&true", sure("go")},
		{"go|tee", sure("go")},
		{"go>log", sure("go")},
		{"CI=1 go test", sure("go")},
		{"A=b C='d e' F=\"g h\" go", sure("go")},
		{"A+=b go", sure("go")},
		{"A=$(date +%s) go", sure("go")},
		{"A=$(echo ')' \\) $(x)) go", sure("go")},
		{"A=`date +%s` go", sure("go")},
		{"A=${B:-x y} go", sure("go")},
		{"A=b", sure("")},
		{"1A=b go", sure("1A=b")},
		{"'A'=b go", sure("A=b")},
		{"(cd x && go)", sure("go")},
		{"cd ./x && go test", sure("go")},
		{"cd x; go test", sure("cd")},
		{"cd x && ./run", answer{"./run", false}},
		{"( go )", sure("go")},
		{"((go))", sure("go")},
		{"{ go; }", sure("go")},
		{"{go", sure("{go")},
		{"! go vet", sure("go")},
		{"! ( go )", sure("go")},
		{"!go", sure("!go")},
		{">log go", sure("go")},
		{"2>/dev/null go", sure("go")},
		{"2>&1 >log go", sure("go")},
		{"< in > out go", sure("go")},
		{"<<END cat\nx\nEND", sure("cat")},
		{"&>log go", sure("go")},
		{">'a b' go", sure("go")},
		{"'go' test", sure("go")},
		{`"go" test`, sure("go")},
		{`g"o" test`, sure("go")},
		{`\go test`, sure("go")},
		{`g\o test`, sure("go")},
		{`"my tool" x`, sure("my tool")},
		{`my\ tool x`, sure("my tool")},
		{`"a\"b\\c\d\$e"`, sure(`a"b\c\d$e`)},
		{"'a\"b$c'", sure(`a"b$c`)},
		{"go\\\nlang", sure("golang")},
		{"./scripts/test.sh -v", sure("./scripts/test.sh")},
		{"[ -f x ]", sure("[")},
		{"[[ -f x ]]", sure("[[")},
		{"if true; then x; fi", sure("if")},
		{". ./env && go", sure(".")},
		{"~/bin/tool", sure("/home/me/bin/tool")},
		{"~", sure("/home/me")},
		{"~root/bin/tool", unsure},
		{"'~/x'", sure("~/x")},
		{"$GO test", sure("go1.26")},
		{"${GO} test", sure("go1.26")},
		{`"$GO" test`, sure("go1.26")},
		{"x$GO", sure("xgo1.26")},
		{"$RUN lint", sure("npm")},
		{`"$RUN" lint`, sure("npm run")},
		{"$UNSET go", sure("go")},
		{"$BLANK go", sure("go")},
		{"'$GO' test", sure("$GO")},
		{"a$ b", sure("a$")},
		{"$", sure("$")},
		{"$(which go) test", unsure},
		{"`which go` test", unsure},
		{`"$(which go)" test`, unsure},
		{"\"`which go`\" test", unsure},
		{"${GO:-go} test", unsure},
		{"$1 x", unsure},
		{"./*.sh", unsure},
		{"'open", unsure},
		{`"open`, unsure},
		{"f() { go; }; f", answer{"f", false}},
		{"f () { go; }; f", answer{"f", false}},
		{`"" go`, sure("")},
		{"", sure("")},
		{"  # nothing", sure("")},
		{"\\", sure("")},
		{"[ab] x", sure("[ab]")},
		{"go{1,2} test", sure("go{1,2}")},
		{"$UNSET; go", sure("go")},
		{"A=1; go", sure("go")},
		{"A=1 && go", sure("go")},
		{">x; go", sure("go")},
		{"export A=1; go", sure("export")},
		{"time go", sure("time")},
		{"$'go' test", unsure},
		{"$\"go\" test", unsure},
		{"while true; do x; done", sure("while")},
		{"for x in a b; do x; done", sure("for")},
		{"case x in a) go;; esac", sure("case")},
		{"function f { go; }; f", answer{"f", false}},
		{"cat <(go)", sure("cat")},
		{"x=(a b); go", sure("go")},
		// A command that cannot be parsed never counts as a check that cannot run.
		{"; go", unsure},
		{"go &&", unsure},
		{"go |", unsure},
		{"go (", unsure},
		{"go 'open", unsure},
		{"{ go", unsure},
		{"if true; then go", unsure},
	}
	for _, c := range cases {
		t.Run(c.command, func(t *testing.T) {
			word, certain := firstWord(c.command, environment)
			if got := (answer{word, certain}); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func FuzzFirstWord(f *testing.F) {
	for _, seed := range []string{"go test", "A=$(x) 'b'", `"$(x)" y`, "$RUN", "f() {", ">&1 <<x", "`", "~x", "${"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		word, _ := firstWord(command, environment)
		if !strings.ContainsAny(command, "$~\\\n`\"'") && !strings.Contains(command, word) {
			t.Errorf("%q is not in %q", word, command)
		}
		quoted := "'" + strings.ReplaceAll(command, "'", "") + "' x"
		if word, certain := firstWord(quoted, environment); !certain || word != strings.ReplaceAll(command, "'", "") {
			t.Errorf("quoted %q became %q, %v", quoted, word, certain)
		}
	})
}
