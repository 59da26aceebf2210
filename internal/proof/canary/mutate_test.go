package canary_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralphloop/ralph/internal/proof/canary"
)

func anyTest(canary.Mark) bool { return true }

// mutateWith changes literals with randomness that depends only on n.
func mutateWith(p project, command string, n int) []canary.Plant {
	seed := sha256.Sum256([]byte{byte(n), byte(n >> 8)})
	return canary.Mutate(p.tree(), command, bytes.NewReader(seed[:]), anyTest)
}

// changedLines lists every changed line as it was. It tries many random choices.
func changedLines(t *testing.T, p project, command string) []string {
	t.Helper()
	var all []string
	for n := range 200 {
		for _, plant := range mutateWith(p, command, n) {
			before, after := strings.Split(p[plant.Name], "\n"), strings.Split(plant.Text, "\n")
			if len(before) != len(after) || len(plant.Marks) != 1 {
				t.Fatalf("%s: %d lines became %d, with %d marks", plant.Name, len(before), len(after), len(plant.Marks))
			}
			for i, line := range before {
				if line == after[i] {
					continue
				}
				line = strings.TrimSpace(line)
				if !slices.Contains(all, line) {
					all = append(all, line)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

type changedCase struct {
	name, body string
	want       []string
}

func (c changedCase) check(t *testing.T, p project, command string) {
	t.Helper()
	if diff := cmp.Diff(c.want, changedLines(t, p, command)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", c.name, diff)
	}
}

func TestMutateGo(t *testing.T) {
	for _, c := range goCases {
		c.check(t, project{"go.mod": "module m\n", "a_test.go": "package a\n\nimport (\n\t\"testing\"\n\n" +
			"\t\"github.com/stretchr/testify/assert\"\n)\n\nfunc TestA(t *testing.T) {\n" + c.body + "\n}\n"}, "go test")
	}
}

var goCases = []changedCase{
	{"number", "if f(1) != 2 {\nt.Fatal()\n}", []string{`if f(1) != 2 {`}},
	{"reversed", "if 2 != f(1) {\nt.Fatal()\n}", []string{`if 2 != f(1) {`}},
	{"text", "if got := f(1); got != \"a\" {\nt.Errorf(\"got %q\", got)\n}", []string{`if got := f(1); got != "a" {`}},
	{"converted", "if f() != int8(-3) {\nt.Fail()\n}", []string{`if f() != int8(-3) {`}},
	{"either", "if err != nil || f() != 'x' {\nt.Fail()\n}", []string{`if err != nil || f() != 'x' {`}},
	{"both", "if f() != 2 && g() != 3 {\nt.Fail()\n}", nil},
	{"equal", "if f() == 2 {\nt.Fail()\n}", nil},
	{"equal or else", "if f() == 2 && g() {\nlog()\n} else {\nt.Fail()\n}", []string{`if f() == 2 && g() {`}},
	{"not equal", "if !(f() == 2) {\nt.Fail()\n}", []string{`if !(f() == 2) {`}},
	{"not both equal", "if !(f() == 2 || g()) {\nt.Fail()\n}", nil},
	{"otherwise", "if err != nil {\nt.Fatal(err)\n} else if f() != 2 {\nt.Fail()\n}", []string{`} else if f() != 2 {`}},
	{"no report", "if f() != 2 {\nlog()\n}", nil},
	{"skip", "if f() != 2 {\nt.Skip()\n}", nil},
	{"report after return", "if f() != 2 {\nif g() {\nreturn\n}\nt.Fail()\n}", nil},
	{"constants", "if 1 != 2 {\nt.Fail()\n}", nil},
	{"in a condition", "if g() {\nif f() != 2 {\nt.Fail()\n}\n}", nil},
	{"after a failure", "if g() != nil {\nt.Error()\nreturn\n}\nif f() != 2 {\nt.Fail()\n}", []string{`if f() != 2 {`}},
	{"after return", "if g() {\nreturn\n}\nif f() != 2 {\nt.Fail()\n}", nil},
	{"after skip", "if g() {\nt.Skip()\n}\nif f() != 2 {\nt.Fail()\n}", nil},
	{"after recover", "defer func() { recover() }()\nif f() != 2 {\nt.Fail()\n}", nil},
	{"certain first", "if f() != 1 {\nt.Fail()\n}\nif g() {\nreturn\n}\nif f() != 2 {\nt.Fail()\n}", []string{
		`if f() != 1 {`,
	}},
	{"after a loop", "for {\nif g() {\nbreak\n}\n}\nif f() != 2 {\nt.Fail()\n}", []string{`if f() != 2 {`}},
	{"name", "want := 2\nif f() != want {\nt.Errorf(\"want %d\", want)\n}", []string{`want := 2`}},
	{"constant", "const want = 2\nif f() != want {\nt.Fail()\n}", []string{`const want = 2`}},
	{"name of an input", "want := 2\nif f(want) != want {\nt.Fail()\n}", nil},
	{"name with two values", "want := 2\nwant = 3\nif f() != want {\nt.Fail()\n}", nil},
	{"testify", "assert.Equal(t, 2, f())", []string{`assert.Equal(t, 2, f())`}},
	{"testify with a name", "want := \"a\"\nassert.Equal(t, f(), want)", []string{`want := "a"`}},
	{"subtest", "t.Run(\"a\", func(t *testing.T) {\nif f() != 2 {\nt.Fail()\n}\n})", []string{`if f() != 2 {`}},
	{"another T", "g(func(t *testing.T) {\nif f() != 2 {\nt.Fail()\n}\n})", nil},
	{"hexadecimal", "if f() != 0x10 {\nt.Fail()\n}", nil},
	{"huge", "if f() != 18446744073709551615 {\nt.Fail()\n}", nil},
	{"boolean", "if f() != true {\nt.Fail()\n}", nil},
	{"sum", "if f() != 1+2 {\nt.Fail()\n}", nil},
	{
		"table", "for _, tt := range []struct {\nin string\nwant int\n}{\n{\"a\", 1},\n{in: \"b\", want: 2},\n} {\n" +
			"tt := tt\nt.Run(tt.in, func(t *testing.T) {\nif got := f(tt.in); got != tt.want {\nt.Errorf(\"%v\", tt)\n}\n})\n}",
		[]string{`{"a", 1},`, `{in: "b", want: 2},`},
	},
	{
		"map", "tests := map[string]int{\n\"a\": 1,\n}\nfor in, want := range tests {\nif f(in) != want {\nt.Fail()\n}\n}",
		[]string{`"a": 1,`},
	},
	{
		"named rows", "type row struct{ in, want string }\nrows := []row{\n{\"a\", \"b\"},\n}\nfor _, r := range rows {\n" +
			"assert.Equal(t, r.want, f(r.in))\n}", []string{`{"a", "b"},`},
	},
	{
		"round trip", "for _, tt := range []struct{ in string }{\n{\"a\"},\n} {\nif f(tt.in) != tt.in {\nt.Fail()\n}\n}", nil,
	},
	{
		"row as a whole", "for _, tt := range []struct{ want string }{\n{\"a\"},\n} {\nif f(tt) != tt.want {\nt.Fail()\n}\n}",
		nil,
	},
	{
		"row that may be left out", "for _, tt := range []struct{ want string; off bool }{\n{\"a\", false},\n} {\n" +
			"if tt.off {\ncontinue\n}\nif f() != tt.want {\nt.Fail()\n}\n}", nil,
	},
	{
		"table in two loops", "rows := []struct{ want string }{\n{\"a\"},\n}\nfix(rows)\nfor _, tt := range rows {\n" +
			"if f() != tt.want {\nt.Fail()\n}\n}", nil,
	},
}

func TestMutatePython(t *testing.T) {
	for _, c := range []changedCase{
		{"assert", "    assert f(1) == 2", []string{"assert f(1) == 2"}},
		{"message", "    assert f(1) == 'a', 'why, so'  # ==", []string{"assert f(1) == 'a', 'why, so'  # =="}},
		{"name", "    got = f(1)\n    assert got == -2.5", []string{"assert got == -2.5"}},
		{"assertEqual", "    self.assertEqual(f(1), 2)", []string{"self.assertEqual(f(1), 2)"}},
		{"reversed", "    self.assertEqual(\"a, (b\", f(1), 'm')", []string{"self.assertEqual(\"a, (b\", f(1), 'm')"}},
		{"several lines", "    self.assertEqual(\n        f(1),\n        2,\n    )", []string{"2,"}},
		{"unequal", "    assert f(1) != 2\n    self.assertNotEqual(f(1), 2)", nil},
		{"negated", "    assert not f(1) == 2", nil},
		{"either", "    assert g() == 1 or f(1) == 2", nil},
		{"conditional", "    assert g() if h() else f(1) == 2", nil},
		{"in brackets", "    assert all(f(x) == 2, 3)", nil},
		{"approximate", "    assert approx(f(1)) == 2\n    self.assertEqual(mock.ANY, 2)", nil},
		{"constants", "    assert 1 == 1\n    assert 'a' == 'b'", nil},
		{"boolean", "    assert f(1) == True\n    assert f(1) == None", nil},
		{"formatted", "    assert f(1) == f'a'\n    assert f(1) == b'a'", nil},
		{"zeros", "    assert f(1) == 007", nil},
		{"indented", "    if g():\n        assert f(1) == 2", nil},
		{"after return", "    if g():\n        return\n    assert f(1) == 2", nil},
		{"certain first", "    assert f(1) == 1\n    if g():\n        return\n    assert f(1) == 2", []string{
			"assert f(1) == 1",
		}},
		{"text", "    x = \"\"\"\n    assert f(1) == 2\n    \"\"\"", nil},
		{"comment", "    # assert f(1) == 2\n    pass", nil},
		{"expected failure", "    assert f(1) == 2\n\n\n@pytest.mark.xfail\ndef helper():\n    pass", nil},
	} {
		c.check(t, project{"test_a.py": "def test_a():\n" + c.body + "\n"}, "pytest")
	}
	for name, text := range map[string]string{
		"decorated":  "@parametrize(\n    'a',\n)\ndef test_a(a):\n    assert f(a) == 2\n",
		"same name":  "def test_a():\n    assert f() == 2\n\ndef test_a():\n    assert f() == 3\n",
		"inside":     "def outer():\n    def test_a():\n        assert f() == 2\n",
		"inherited":  "class Base:\n    def test_a(self):\n        assert f() == 2\n\n\nclass TestB(Base):\n    pass\n",
		"of a class": "@skip\nclass TestA:\n    def test_a(self):\n        assert f() == 2\n",
		"in a text":  "x = '''\ndef test_a():\n    assert f() == 2\n'''\n",
	} {
		changedCase{name: name}.check(t, project{"test_a.py": text}, "pytest")
	}
}

func TestMutateJavaScript(t *testing.T) {
	for _, c := range []changedCase{
		{"equal", "assert.equal(f(1), 2);", []string{"assert.equal(f(1), 2);"}},
		{"strict, with a message", "assert.strictEqual(f(1), 'a, b', 'm')", []string{"assert.strictEqual(f(1), 'a, b', 'm')"}},
		{"expect", "expect(f(1)).toBe(\"a\");", []string{"expect(f(1)).toBe(\"a\");"}},
		{"several lines", "expect(\nf(1),\n).toEqual(\n2,\n);", []string{"2,"}},
		{"ava", "t.is(f(1), -2)", []string{"t.is(f(1), -2)"}},
		{"awaited", "await expect(f(1)).resolves.toBe(2);", []string{"await expect(f(1)).resolves.toBe(2);"}},
		{"not awaited", "expect(f(1)).resolves.toBe(2);", nil},
		{"negated", "expect(f(1)).not.toBe(2);\nassert.notEqual(f(1), 2);", nil},
		{"constant", "expect(1).toBe(1);", nil},
		{"other values", "expect(f(1)).toBe(true);\nexpect(f(1)).toBe(x);\nexpect(f(1)).toBe(`a`);", nil},
		{"caught", "expect(f(1)).toBe(2).catch(g);", nil},
		{"branch", "if (g())\nexpect(f(1)).toBe(2);", nil},
		{"block", "if (g()) {\nexpect(f(1)).toBe(2);\n}", nil},
		{"callback", "const x = () =>\nexpect(f(1)).toBe(2);", nil},
		{"after return", "if (g()) return;\nexpect(f(1)).toBe(2);", nil},
		{"comment", "// expect(f(1)).toBe(2);\n/*\nexpect(f(1)).toBe(2);\n*/", nil},
		{"template", "const x = `${f(`\n}`)}\nexpect(f(1)).toBe(2);\n`;", nil},
		{"regular expression", "const x = /['\"`]/;\nexpect(f(1)).toBe(2);", []string{"expect(f(1)).toBe(2);"}},
	} {
		c.check(t, project{"a.test.js": "it('a', async () => {\n" + c.body + "\n});\n"}, "npx jest")
	}
	one := "test('a', () => { assert.equal(f(1), 2); });"
	for _, c := range []changedCase{
		{"one line", one, []string{one}},
		{"expression", "test('a', async () => assert.equal(await f(1), 2));", []string{
			"test('a', async () => assert.equal(await f(1), 2));",
		}},
		{"function", "test('a', function () { assert.equal(f(1), 2); });", []string{
			"test('a', function () { assert.equal(f(1), 2); });",
		}},
		{"skipped", "test.skip('a', () => { assert.equal(f(1), 2); });", nil},
		{"options", "test('a', { skip: true }, () => { assert.equal(f(1), 2); });", nil},
		{"title twice", one + "\nit.todo('a')", nil},
		{"title ends another", one + "\nit('b a', () => {});", nil},
		{"computed title", "test('a' + b, () => { assert.equal(f(1), 2); });", nil},
	} {
		c.check(t, project{"a.test.js": c.body + "\n"}, "npx jest")
	}
}

func TestMutateRust(t *testing.T) {
	for _, c := range []changedCase{
		{"equal", "    assert_eq!(f(1), 2);", []string{"assert_eq!(f(1), 2);"}},
		{"reversed", "    assert_eq!(\"a\", f(1), \"m {}\", 1);", []string{"assert_eq!(\"a\", f(1), \"m {}\", 1);"}},
		{"character", "    assert_eq!(f::<'a'>(1), 'x');", []string{"assert_eq!(f::<'a'>(1), 'x');"}},
		{"several lines", "    assert_eq!(\n        f(1),\n        2\n    );", []string{"2"}},
		{"unequal", "    assert_ne!(f(1), 2);", nil},
		{"block", "    if g() {\n        assert_eq!(f(1), 2);\n    }", nil},
		{"wrapped", "    assert_eq!(f(1), Some(2));", nil},
		{"after return", "    if g() {\n        return;\n    }\n    assert_eq!(f(1), 2);", nil},
		{"text", "    let x = r#\"\n    assert_eq!(f(1), 2);\n\"#;", nil},
		{"comment", "    /*\n    assert_eq!(f(1), 2);\n    */", nil},
		{"lifetime", "    let x: &'static str = g();\n    assert_eq!(x, \"it's\");", []string{"assert_eq!(x, \"it's\");"}},
	} {
		c.check(t, project{"Cargo.toml": "", "tests/a.rs": "#[test]\nfn a() {\n" + c.body + "\n}\n"}, "cargo test")
	}
	body := "fn a() {\n    assert_eq!(f(1), 2);\n}\n"
	for name, text := range map[string]string{
		"should panic": "#[test]\n#[should_panic(expected = \"x\")]\n" + body,
		"ignored":      "#[ignore]\n#[test]\n" + body,
		"no test":      body,
		"same name":    "#[test]\n" + body + "#[test]\n" + body,
	} {
		changedCase{name: name}.check(t, project{"Cargo.toml": "", "tests/a.rs": text}, "cargo test")
	}
}

// mutable has tests of every ecosystem whose literals can be changed, several in a file.
var mutable = goBase.with(pythonBase).with(project{
	"package.json": nodeBase["package.json"], "test/sums.test.js": nodeBase["test/sums.test.js"],
	"crate/Cargo.toml": rustBase["Cargo.toml"], "crate/src/lib.rs": rustBase["src/lib.rs"],
	"crate/src/a/b.rs": "#[cfg(test)]\nmod tests {\n    #[test]\n    fn c() {\n        assert_eq!(f(), 1.5);\n    }\n}\n",
	"tests/test_more.py": "from calc import f\n\n\ndef test_one():\n    assert f(1) == 'one'\n\n\ndef test_two():\n    " +
		"assert f(2) == 'two'\n",
	"text/more_test.go": "package text\n\nimport \"testing\"\n\nfunc TestMore(t *testing.T) {\n\twant := `more`\n\tif " +
		"got := f(); got != want {\n\t\tt.Errorf(\"got %q, want %q\", got, want)\n\t}\n}\n\nfunc TestLess(t *testing.T) " +
		"{\n\tif got := f(); got != -300 {\n\t\tt.Fatal(got)\n\t}\n}\n",
})

// TestMutateText shows whole changed files. What is random comes from a seed.
func TestMutateText(t *testing.T) {
	var got txtar.Archive
	for _, command := range []string{"go test ./...", "pytest", "node --test", "cargo test", "make test"} {
		for _, p := range mutateWith(mutable, command, 1) {
			var marks strings.Builder
			for _, m := range p.Marks {
				fmt.Fprintf(&marks, "%s %q %s\n", m.Key, m.Test, m.Scope)
			}
			got.Files = append(got.Files, txtar.File{Name: command + ": " + p.Name, Data: []byte(p.Text)}, txtar.File{
				Name: command + ": " + p.Name + " (marks)", Data: []byte(marks.String()),
			})
		}
	}
	text := txtar.Format(&got)
	if *update {
		if err := os.WriteFile("testdata/mutated.golden", text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/mutated.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The same seed changes the same tests in the same way, whatever else is in the tree.
func TestMutateSameChoice(t *testing.T) {
	larger := mutable
	for i := range 20 {
		larger = larger.with(project{
			fmt.Sprintf("new%d/a_test.go", i): fmt.Sprintf("package a\n\nimport \"testing\"\n\nfunc TestNew%d(t "+
				"*testing.T) {\n\tif f() != 3 {\n\t\tt.Fatal()\n\t}\n}\n", i),
			fmt.Sprintf("new/test_new%d.py", i): "def test_new():\n    assert f() == 3\n",
		})
	}
	larger["text/more_test.go"] += "\nfunc TestMost(t *testing.T) {\n\tif f() != 3 {\n\t\tt.Fatal()\n\t}\n}\n"
	for _, command := range []string{"make test", "go test ./...", "pytest"} {
		kept, others := 0, 0
		for n := range 200 {
			small, smallLines := changesIn(mutable, mutateWith(mutable, command, n))
			large, largeLines := changesIn(mutable, mutateWith(larger, command, n))
			others += len(large)
			for _, key := range large {
				if _, old := mutable[strings.Split(key, " ")[1]]; old && !strings.Contains(key, "TestMost") {
					kept++
					if !slices.Contains(small, key) {
						t.Errorf("%s, %d: %s is chosen only in the larger tree", command, n, key)
					}
				}
			}
			for _, line := range largeLines {
				if !slices.Contains(smallLines, line) {
					t.Errorf("%s, %d: %q is only in the larger tree, the smaller one has %q", command, n, line, smallLines)
				}
			}
		}
		if others -= kept; kept < 100 || others < 100 {
			t.Errorf("%s: %d old tests and %d new ones were chosen, so this proves little", command, kept, others)
		}
	}
}

// changesIn returns the keys of plants, and the changed lines of the files that a project has.
func changesIn(p project, plants []canary.Plant) (keys, lines []string) {
	for _, plant := range plants {
		for _, m := range plant.Marks {
			keys = append(keys, m.Key)
		}
		after := strings.Split(plant.Text, "\n")
		for i, line := range strings.Split(strings.TrimSuffix(p[plant.Name], "\n"), "\n") {
			if p[plant.Name] != "" && after[i] != line {
				lines = append(lines, after[i])
			}
		}
	}
	return keys, lines
}

// TestMutateHolds checks what every choice has in common, with new randomness each time.
func TestMutateHolds(t *testing.T) {
	tests, texts := map[string]bool{}, map[string]bool{}
	for range 50 {
		keys := map[string]bool{}
		for _, p := range canary.Mutate(mutable.tree(), "make test", rand.Reader, anyTest) {
			texts[p.Text] = true
			if p.Text == mutable[p.Name] || !p.Inside || len(p.Marks) == 0 {
				t.Errorf("%s is not changed: %+v", p.Name, p.Marks)
			}
			if _, err := parser.ParseFile(token.NewFileSet(), p.Name, p.Text, parser.AllErrors); path.Ext(p.Name) == ".go" &&
				err != nil {
				t.Errorf("parse %s: %v", p.Name, err)
			}
			for _, m := range p.Marks {
				keys[m.Key], tests[m.Key] = true, true
				if !m.Literal || len(m.Token) < 6 || strings.Contains(p.Text, m.Token) {
					t.Errorf("mark %+v", m)
				}
			}
		}
		ecosystems := map[string]bool{}
		for key := range keys {
			ecosystem, _, _ := strings.Cut(key, " ")
			ecosystems[ecosystem] = true
		}
		if len(keys) != 5 || len(ecosystems) != 4 {
			t.Errorf("chosen: %v", keys)
		}
	}
	if len(tests) != 10 || len(texts) < 50 {
		t.Errorf("%d tests became %d texts: %v", len(tests), len(texts), tests)
	}
}

// Different files are preferred, and the command decides which ecosystems count.
func TestMutateSpreads(t *testing.T) {
	for n := range 50 {
		plants := mutateWith(mutable, "go test ./...", n)
		names := map[string]int{}
		for _, p := range plants {
			names[p.Name] = len(p.Marks)
		}
		want := map[string]int{"calc_test.go": 1, "text/text_test.go": 1, "text/more_test.go": 2}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Fatalf("%d (-want +got):\n%s", n, diff)
		}
	}
}

func TestMutateNothing(t *testing.T) {
	if got := canary.Mutate(mutable.tree(), "make test", iotest.ErrReader(os.ErrClosed), anyTest); got != nil {
		t.Errorf("without randomness: %v", got)
	}
	if got := canary.Mutate(mutable.tree(), "make test", strings.NewReader("short"), anyTest); got != nil {
		t.Errorf("with too little randomness: %v", got)
	}
	if got := canary.Mutate(mutable.tree(), "go vet ./...", rand.Reader, anyTest); got != nil {
		t.Errorf("for a linter: %v", got)
	}
	if got := canary.Mutate(canary.Tree{Files: []string{"a_test.go", "test_a.py"}}, "make", rand.Reader, anyTest); got != nil {
		t.Errorf("for a tree that cannot be read: %v", got)
	}
}

// A number stays in the smallest type that holds it, or the file would not build.
func TestMutateKeepsTypes(t *testing.T) {
	for literal, limits := range map[string][2]int{
		"0": {0, 127}, "127": {0, 127}, "128": {128, 255}, "255": {128, 255}, "256": {256, 32767},
		"32767": {256, 32767}, "40000": {32768, 65535}, "-1": {-128, -1}, "-128": {-128, -1}, "-129": {-32768, -129},
		"2147483647": {2147483647 - 9000, 2147483647},
	} {
		text := "def test_a():\n    assert f() == " + literal + "\n"
		seen := map[string]bool{}
		for n := range 200 {
			for _, p := range mutateWith(project{"test_a.py": text}, "pytest", n) {
				var got int
				if _, err := fmt.Sscanf(p.Text, "def test_a():\n    assert f() == %d\n", &got); err != nil {
					t.Fatalf("%v in %s", err, p.Text)
				}
				if got < limits[0] || got > limits[1] || fmt.Sprint(got) == literal {
					t.Errorf("%s became %d", literal, got)
				}
				seen[p.Text] = true
			}
		}
		if len(seen) < 50 {
			t.Errorf("%s has only %d replacements", literal, len(seen))
		}
	}
}

func TestMatches(t *testing.T) {
	mark := func(key, scope, test string) canary.Mark {
		return canary.Mark{Key: key, Scope: scope, Test: []string{test}, Literal: true}
	}
	inGo, free := mark("go a", "m/p", "TestA"), mark("go a", "", "TestA")
	python, js := mark("python a", "", "test_m.TestA.test_a"), mark("javascript a", "", "adds 1")
	rust := mark("rust a", "", "tests::adds")
	for _, c := range []struct {
		mark canary.Mark
		name string
		want bool
	}{
		{inGo, "m/p.TestA", true}, {inGo, "m/p.TestA/b", true}, {inGo, "m/p.TestAb", false}, {inGo, "m/p/q.TestA", false},
		{inGo, "m/p.TestB/TestA", false}, {free, "p.TestA", true}, {free, "p.TestA/x", true}, {free, "p.TestAb", false},
		{python, "tests.test_m.TestA.test_a", true}, {python, "test_m.TestA.test_a", true},
		{python, "test_m.TestA.test_a[1-2]", true}, {python, "test_m.TestA.test_ab", false},
		{python, "test_m.TestB.test_a", false}, {python, "xtest_m.TestA.test_a", false},
		{js, "adds 1", true}, {js, "group > adds 1", true}, {js, "group adds 1", true}, {js, "adds 1 > inner", true},
		{js, "adds 12", false}, {js, "readds 1", false}, {js, "adds 1 more", false},
		{rust, "calc unittests src/lib.rs tests::adds", true}, {rust, "tests::adds", true},
		{rust, "calc unittests src/lib.rs a::tests::adds", false}, {rust, "tests::adds_more", false},
		{canary.Mark{Key: "go a", Test: []string{"TestA"}}, "p.TestA", false},
	} {
		if got := c.mark.Matches(c.name); got != c.want {
			t.Errorf("%s matches %q: %v", c.mark.Test[0], c.name, got)
		}
	}
}
