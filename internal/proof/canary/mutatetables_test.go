package canary_test

import (
	"maps"
	"testing"
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
		{"branch", "for (const [a, want] of [[1, 2]]) if (a) assert.equal(f(a), want);", nil},
		{"other rows", "for (const [a, want] of g([[1, 2]])) assert.equal(f(a), want);", nil},
	} {
		c.check(t, project{"a.test.js": "it('a', async () => {\n" + c.body + "\n});\n"}, "npx jest")
	}
}

func TestMutateData(t *testing.T) {
	const (
		reads = "def test_a():\n    with open(join(dirname(__file__), 'cases.json')) as f:\n" +
			"        for a, want in json.load(f):\n            assert f(a) == want\n"
		assigns = "def test_a():\n    cases = json.loads(read('tests/cases.json'))\n    for a, want in cases:\n" +
			"        assert f(a) == want\n"
		chooses = "def test_a():\n    cases = g(json.load(f('cases.json')))\n    for a, want in cases:\n" +
			"        assert f(a) == want\n"
		requires = "test('a', () => {\nfor (const [a, want] of require('./cases.json')) assert.equal(f(a), want);\n});\n"
		cases    = "[\n[1, 2],\n[\"x\", \"y\"]\n]\n"
	)
	rows := []string{"[\"x\", \"y\"]", "[1, 2],"}
	for name, c := range map[string]struct {
		files project
		want  []string
	}{
		"read":                {project{"tests/test_a.py": reads}, rows},
		"read into a name":    {project{"tests/test_a.py": assigns}, rows},
		"required":            {project{"tests/a.test.js": requires}, rows},
		"read twice":          {project{"tests/test_a.py": reads, "tests/test_b.py": "OTHER = 'cases.json'\n"}, nil},
		"folder read":         {project{"tests/test_a.py": reads, "tests/test_b.py": "ALL = glob.glob('*')\n"}, nil},
		"other data":          {project{"tests/test_a.py": reads, "tests/cases.json": "{\"a\": [[1, 2]]}\n"}, nil},
		"data that is chosen": {project{"tests/test_a.py": chooses}, nil},
	} {
		files := project{"tests/cases.json": cases}
		maps.Copy(files, c.files)
		changedCase{name: name, want: c.want}.check(t, files, "make test")
	}
}
