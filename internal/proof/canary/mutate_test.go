package canary_test

import (
	"bytes"
	"crypto/sha256"
	"go/parser"
	"go/token"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/proof/canary"
)

func anyTest(canary.Mark) bool { return true }

// mutateWith changes literals with randomness that depends only on n.
func mutateWith(p project, command string, n int) []canary.Plant {
	seed := sha256.Sum256([]byte{byte(n), byte(n >> 8)})
	return mutate(p.tree(), command, bytes.NewReader(seed[:]))
}

// mutate changes literals of any test.
func mutate(tree canary.Tree, command string, random io.Reader) []canary.Plant {
	return canary.Mutate(canary.Mutation{Tree: tree, Command: command, Random: random, Named: anyTest})
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
			parses(t, plant)
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

// parses requires that a changed Go file is still one.
func parses(t *testing.T, plant canary.Plant) {
	t.Helper()
	if _, err := parser.ParseFile(token.NewFileSet(), plant.Name, plant.Text, parser.AllErrors); err != nil &&
		path.Ext(plant.Name) == ".go" {
		t.Errorf("parse %s: %v", plant.Name, err)
	}
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
	{"method", "if !f().Equal(M{Cents: 5}) {\nt.Fail()\n}", []string{`if !f().Equal(M{Cents: 5}) {`}},
	{"method that must not", "if f().Equal(M{5}) {\nt.Fail()\n}", nil},
	{"method with a name", "if !f().Equal(m) {\nt.Fail()\n}", nil},
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
		{"assertTrue", "    self.assertTrue(f(1) == 2)", []string{"self.assertTrue(f(1) == 2)"}},
		{"assertTrue with a message", "    self.assertTrue('a' == f(1), 'm')", []string{
			"self.assertTrue('a' == f(1), 'm')",
		}},
		{"assertTrue of more", "    self.assertTrue(f(1) == 2 or g())\n    self.assertTrue(g(x == 2))", nil},
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
		{"strict, with a message", "assert.strictEqual(f(1), 'a, b', 'm')", []string{
			"assert.strictEqual(f(1), 'a, b', 'm')",
		}},
		{"ok", "assert.ok(f(1) === 'a');\nassert(2 == f(1), 'm');", []string{
			"assert(2 == f(1), 'm');", "assert.ok(f(1) === 'a');",
		}},
		{"ok of more", "assert.ok(f(1) === 2 || g());\nassert(g(x === 2));\nassert.ok(f(1) !== 2);", nil},
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

func TestMutateTablesOfPackages(t *testing.T) {
	const text = "package a\n\nimport \"testing\"\n\nvar sums = []struct{ a, want int }{{1, 2}, {3, 4}}\n\n" +
		"func TestA(t *testing.T) {\n\tfor _, c := range sums {\n\t\tif f(c.a) != c.want {\n\t\t\tt.Fail()\n\t\t}\n\t}\n}\n"
	changedCase{"table of the package", "", []string{"var sums = []struct{ a, want int }{{1, 2}, {3, 4}}"}}.check(
		t, project{"go.mod": "module m\n", "a_test.go": text}, "go test")
	mod := "module m\n"
	changedCase{"table of two files", "", nil}.check(
		t, project{"go.mod": mod, "a_test.go": text, "b_test.go": "package a\n\nvar other = len(sums)\n"}, "go test")
	changedCase{"table that the product knows", "", []string{"var sums = []struct{ a, want int }{{1, 2}, {3, 4}}"}}.check(
		t, project{"go.mod": mod, "a_test.go": text, "b.go": "package a\n\nfunc init() { sums = nil }\n"}, "go test")
	changedCase{"table that others use", "", nil}.check(
		t, project{"go.mod": "module m\n", "a_test.go": text + "\nfunc init() { sums = nil }\n"}, "go test")
}
