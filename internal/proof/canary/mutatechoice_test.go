package canary_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralphloop/ralph/internal/proof/canary"
)

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
		for _, p := range mutate(mutable.tree(), "make test", rand.Reader) {
			texts[p.Text] = true
			if p.Text == mutable[p.Name] || !p.Inside || len(p.Marks) == 0 {
				t.Errorf("%s is not changed: %+v", p.Name, p.Marks)
			}
			parses(t, p)
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

// Different files are preferred over more tests of one file.
func TestMutateSpreads(t *testing.T) {
	one := func(name string) string { return "def test_" + name + "():\n    assert f() == 3\n\n\n" }
	p := project{"test_a.py": one("a"), "test_b.py": one("b"), "test_c.py": one("c")}
	for i := range 20 {
		p["test_many.py"] += one(fmt.Sprint(i))
	}
	for n := range 50 {
		names := map[string]int{}
		for _, plant := range mutateWith(p, "pytest", n) {
			names[plant.Name] = len(plant.Marks)
		}
		want := map[string]int{"test_a.py": 1, "test_b.py": 1, "test_c.py": 1, "test_many.py": 2}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Fatalf("%d (-want +got):\n%s", n, diff)
		}
	}
}

func TestMutateNothing(t *testing.T) {
	if got := mutate(mutable.tree(), "make test", iotest.ErrReader(os.ErrClosed)); got != nil {
		t.Errorf("without randomness: %v", got)
	}
	if got := mutate(mutable.tree(), "make test", strings.NewReader("short")); got != nil {
		t.Errorf("with too little randomness: %v", got)
	}
	if got := mutate(mutable.tree(), "go vet ./...", rand.Reader); got != nil {
		t.Errorf("for a linter: %v", got)
	}
	unread := canary.Tree{Files: []string{"a_test.go", "test_a.py"}}
	if got := mutate(unread, "make", rand.Reader); got != nil {
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

// Searching took minutes: for every test it looked at the whole file, or twice at every nested
// branch.
func TestMutateLongFiles(t *testing.T) {
	deep := strings.Repeat("if g() {\n", 60) + strings.Repeat("}\n", 60)
	p := project{
		"a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n" + deep +
			"if f() != 2 {\nt.Fatal()\n}\n}\n",
		"a.test.js": strings.Repeat("it('a', () => { g(", 10_000),
		"b.test.js": "it('b', () => {\n" + strings.Repeat("  expect(f()).toBe(2);\n", 10_000) + "});\n",
	}
	for i := range 5000 {
		p["test_a.py"] += fmt.Sprintf("def test_%d():\n    assert f() == 2\n\n", i)
	}
	var names []string
	for _, plant := range mutateWith(p, "make test", 1) {
		names = append(names, plant.Name)
	}
	if diff := cmp.Diff([]string{"a_test.go", "b.test.js", "test_a.py"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Any text may be a test file. A Go file that could be parsed before can be parsed afterward.
func FuzzMutate(f *testing.F) {
	for _, text := range mutable {
		f.Add(text)
	}
	f.Add("test('a', () => { assert.equal(`${`x`}`, 'b') })")
	f.Add("#[test]\nfn a() { assert_eq!(r#\"a\"#, f('\\'', 1)); }")
	f.Fuzz(func(t *testing.T, text string) {
		p := project{"Cargo.toml": "", "a_test.go": text, "test_a.py": text, "a.test.js": text, "src/lib.rs": text}
		for _, plant := range mutateWith(p, "make test", 1) {
			if plant.Text == text {
				t.Errorf("%s is not changed", plant.Name)
			}
			parses(t, plant)
		}
	})
}
