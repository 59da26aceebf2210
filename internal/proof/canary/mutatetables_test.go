package canary_test

import (
	"crypto/rand"
	"maps"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/internal/proof/canary"
)

func TestMutateTablesOfPython(t *testing.T) {
	for _, c := range []changedCase{
		{"loop", "    for a, want in [(1, 2), ('x', 'y')]:\n        assert f(a) == want", []string{
			"for a, want in [(1, 2), ('x', 'y')]:",
		}},
		{
			"loop of several lines",
			"    for a, want in (\n        (1, 2),\n        [3, 4],\n    ):\n        self.assertEqual(want, f(a))",
			[]string{"(1, 2),", "[3, 4],"},
		},
		{
			"rows with keys", "    for c in [\n        {'in': 1, 'want': 2},\n    ]:\n        assert f(c['in']) == c['want']",
			[]string{"{'in': 1, 'want': 2},"},
		},
		{"round trip", "    for a, want in [(1, 2)]:\n        assert f(want) == want", nil},
		{"round trip before", "    for a, want in [(1, 2)]:\n        s.set(a, want)\n        assert s.get(a) == want", nil},
		{"round trip in a text", "    for a, want in [(1, 2)]:\n        s = f'{want}'\n        assert f(s) == want", nil},
		{"row passed on", "    for c in [{'a': 1, 'want': 2}]:\n        u = U(**c)\n        assert u.a == c['want']", nil},
		{
			"compared twice", "    for a, want in [(1, 2)]:\n        assert f(a) == want\n        assert g(a) == want",
			[]string{"for a, want in [(1, 2)]:"},
		},
		{
			"left early",
			"    for a, want in [(1, 2), (2, 3)]:\n        assert f(a) == want\n        if not x:\n            break", nil,
		},
		{"part of the rows", "    for a, want in [(1, 2), (2, 3)][:1]:\n        assert f(a) == want", nil},
		{
			"raises", "    with open(p) as f, self.assertRaises(E):\n        for a, want in [(1, 2)]:\n" +
				"            assert f(a) == want", nil,
		},
		{"row as a whole", "    for c in [{'want': 2}]:\n        assert f(c) == c['want']", nil},
		{
			"rows that are left out",
			"    for a, want in [(1, 2)]:\n        if a:\n            continue\n        assert f(a) == want", nil,
		},
		{"changed name", "    for a, want in [(1, 2)]:\n        want = g(want)\n        assert f(a) == want", nil},
		{"other rows", "    for a, want in zip(x, [1, 2]):\n        assert f(a) == want", nil},
		{"deeper rows", "    for (a, b), want in [((1, 2), 3)]:\n        assert f(a) == want", nil},
		{"after return", "    if g():\n        return\n    for a, want in [(1, 2)]:\n        assert f(a) == want", nil},
	} {
		c.check(t, project{"test_a.py": "def test_a():\n" + c.body + "\n"}, "pytest")
	}
	const (
		sets = "@pytest.mark.parametrize(('a', 'want'), [\n    (1, 2),\n    pytest.param(3, 4),\n])\n"
		line = "@pytest.mark.parametrize('a,want', [(1, 2)])"
		test = "def test_a(a, want):\n    assert f(a) == want\n"
	)
	for _, c := range []changedCase{
		{"parameters", sets + test, []string{"(1, 2),"}},
		{"parameters in a text", line + "\n" + test, []string{line}},
		{"parameters and a skip", "@pytest.mark.skipif(x)\n" + sets + test, nil},
		{"parameters and a mark", sets + "@mark\n" + test, nil},
		{"parameters after a comment", "@pytest.mark.skipif(x)\n# rows\n" + sets + test, nil},
		{"parameters with a comment", strings.Replace(sets, "    (1", "    # one\n\n    (1", 1) + test, []string{"(1, 2),"}},
		{"parameters that are chosen", "@pytest.mark.parametrize('a,want', [(1, 2)] if x else [(1, 3)])\n" + test, nil},
		{"parameters by a fixture", "@pytest.mark.parametrize('a,want', [(1, 2)], indirect=True)\n" + test, nil},
		{"parameters with marks", "@pytest.mark.parametrize('a,want', [(1, 2), pytest.param(1, 3, marks=x)])\n" + test, nil},
		{"parameter of a fixture", "@pytest.fixture\ndef c(want):\n    pass\n\n\n" + line + "\n" + test, nil},
		{"parameters, round trip", sets + "def test_a(a, want):\n    assert f(g(want)) == want\n", nil},
	} {
		c.check(t, project{"test_a.py": c.body}, "pytest")
	}
}

func TestMutateTablesOfJavaScript(t *testing.T) {
	for _, c := range []changedCase{
		{"loop", "for (const [a, want] of [[1, 2], [3, 4]]) assert.equal(f(a), want);", []string{
			"for (const [a, want] of [[1, 2], [3, 4]]) assert.equal(f(a), want);",
		}},
		{
			"block", "for (const c of [\n{ in: 1, want: 'a' },\n]) {\nconst got = f(c.in);\nexpect(got).toBe(c.want);\n}",
			[]string{"{ in: 1, want: 'a' },"},
		},
		{"reversed", "for (const [a, want] of [[1, 2]]) expect(want).toBe(f(a));", nil},
		{"round trip", "for (const [a, want] of [[1, 2]]) assert.equal(f(want), want);", nil},
		{
			"rows that are left out",
			"for (const [a, want] of [[1, 2]]) {\nif (a) continue;\nassert.equal(f(a), want);\n}", nil,
		},
		{"round trip before", "for (const [k, v] of [['a', 1]]) { m.set(k, v); assert.equal(m.get(k), v); }", nil},
		{"nothing", "for (const x of y());", nil},
		{"part of the rows", "for (const [a, want] of [[1, 2], [2, 9]].filter(g)) assert.equal(f(a), want);", nil},
		{"branch", "for (const [a, want] of [[1, 2]]) if (a) assert.equal(f(a), want);", nil},
		{"other rows", "for (const [a, want] of g([[1, 2]])) assert.equal(f(a), want);", nil},
	} {
		c.check(t, project{"a.test.js": "it('a', async () => {\n" + c.body + "\n});\n"}, "npx jest")
	}
}

func TestMutateData(t *testing.T) {
	const (
		open  = "open(os.path.join(os.path.dirname(__file__), 'cases.json'))"
		loop  = "    for a, want in cases:\n        assert f(a) == want\n"
		reads = "def test_a():\n    with " + open + " as f:\n        for a, want in json.load(f):\n" +
			"            assert f(a) == want\n"
		assigns  = "def test_a():\n    cases = json.load(open('tests/cases.json'))\n" + loop
		chooses  = "def test_a():\n    cases = g(json.load(" + open + "))\n" + loop
		filters  = "def test_a():\n    all_cases = json.load(" + open + ")\n    cases = [c for c in all_cases if c]\n" + loop
		slices   = "def test_a():\n    cases = json.load(" + open + ")\n    cases = cases[:1]\n" + loop
		scratch  = "def test_a(tmp_path):\n    cases = json.load(open('tests/cases.json'))\n" + loop
		requires = "test('a', () => {\nfor (const [a, want] of require('./cases.json')) assert.equal(f(a), want);\n});\n"
		sorts    = "test('a', () => {\nfor (const [a, w] of require('./cases.json').sort()) assert.equal(f(a), w);\n});\n"
		cases    = "[\n[1, 2],\n[\"x\", \"y\"]\n]\n"
	)
	rows := []string{"[\"x\", \"y\"]", "[1, 2],"}
	for name, c := range map[string]struct {
		files project
		want  []string
	}{
		"read":                  {project{"tests/test_a.py": reads}, rows},
		"read into a name":      {project{"tests/test_a.py": assigns}, rows},
		"required":              {project{"tests/a.test.js": requires}, rows},
		"read twice":            {project{"tests/test_a.py": reads, "tests/test_b.py": "OTHER = 'cases.json'\n"}, nil},
		"read by the product":   {project{"tests/test_a.py": reads, "f.py": "load(f'{HERE}/cases.json')\n"}, nil},
		"read by its stem":      {project{"tests/test_a.py": reads, "tests/helpers.py": "load('cases')\n"}, nil},
		"other data":            {project{"tests/test_a.py": reads, "tests/cases.json": "{\"a\": [[1, 2]]}\n"}, nil},
		"data that is chosen":   {project{"tests/test_a.py": chooses}, nil},
		"data that is filtered": {project{"tests/test_a.py": filters}, nil},
		"data that is cut":      {project{"tests/test_a.py": slices}, nil},
		"data that is sorted":   {project{"tests/a.test.js": sorts}, nil},
		"data of its own":       {project{"tests/test_a.py": scratch}, nil},
	} {
		files := project{"tests/cases.json": cases}
		maps.Copy(files, c.files)
		changedCase{name: name, want: c.want}.check(t, files, "make test")
	}
}

// What an agent adds does not decide what is changed.
func TestMutateDataByTheBase(t *testing.T) {
	base := project{
		"tests/cases.json": "[[1, 2]]\n",
		"tests/a.test.js": "test('a', () => {\n" +
			"for (const [a, want] of require('./cases.json')) assert.equal(f(a), want);\n});\n",
	}
	now := maps.Clone(base)
	now["f.js"] = "// cases\n"
	plants := canary.Mutate(canary.Mutation{
		Tree: now.tree(), Base: base.tree(), Command: "npx jest", Random: rand.Reader, Named: anyTest,
	})
	if len(plants) != 1 || plants[0].Name != "tests/cases.json" {
		t.Errorf("changed: %+v", plants)
	}
}
