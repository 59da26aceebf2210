package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
)

const planPath = "PLAN.md"

func markdownSource(text string) source {
	return source{path: planPath, files: map[string][]byte{planPath: []byte(text)}}
}

// todo and finished are tasks that have nothing but a name.
func todo(id, title string) ralph.Task {
	return ralph.Task{ID: id, Title: title, Status: ralph.TaskPending}
}

func finished(id, title string) ralph.Task {
	return ralph.Task{ID: id, Title: title, Status: ralph.TaskDone}
}

func optional(t ralph.Task) ralph.Task { t.Optional = true; return t }
func human(t ralph.Task) ralph.Task    { t.Human = true; return t }
func accepted(t ralph.Task, criteria ...string) ralph.Task {
	t.Acceptance = criteria
	return t
}
func described(t ralph.Task, text string) ralph.Task { t.Description = text; return t }
func ranked(t ralph.Task, priority int) ralph.Task   { t.Priority = &priority; return t }
func after(t ralph.Task, ids ...string) ralph.Task   { t.DependsOn = ids; return t }
func checkedBy(t ralph.Task, commands ...string) ralph.Task {
	t.Checks = commands
	return t
}

const noTasks = "PLAN.md:1: no checkbox item found; write `- [ ] title`"

type markdownCase struct {
	name     string
	text     string
	tasks    []ralph.Task
	problems []string // warnings end with " (warning)"
}

func checkMarkdown(t *testing.T, cases []markdownCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, problems := markdown{}.parse(markdownSource(c.text))
			if diff := cmp.Diff(c.tasks, tasksOf(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
			var texts []string
			for _, p := range problems {
				text := p.String()
				if p.Warning {
					text += " (warning)"
				}
				texts = append(texts, text)
			}
			if diff := cmp.Diff(c.problems, texts); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarkdownBoxes(t *testing.T) {
	checkMarkdown(t, []markdownCase{
		{"every bullet", "- [ ] a\n\n* [x] b\n\n+ [X] c\n\n1. [ ] d\n\n2) [x] e\n",
			[]ralph.Task{todo("a", "a"), finished("b", "b"), finished("c", "c"), todo("d", "d"), finished("e", "e")}, nil},
		{
			"nested in plain items",
			"- Backend\n  - [ ] a\n  - more\n    - [x] b\n",
			[]ralph.Task{todo("a", "a"), finished("b", "b")},
			nil,
		},
		{"nested in a boxed item", "- [ ] a\n  - [x] one\n  - [ ] two\n    - [ ] three\n- [x] b\n  1. [ ] four\n",
			[]ralph.Task{accepted(todo("a", "a"), "one", "two", "three"), accepted(finished("b", "b"), "four")}, nil},
		{
			"CRLF",
			"# Plan\r\n\r\n- [ ] a\r\n  - Priority: 2\r\n- [x] b\r\n",
			[]ralph.Task{ranked(todo("a", "a"), 2), finished("b", "b")},
			nil,
		},
		{"CR alone", "# Plan\r\r- [ ] a\r- [x] b\r", []ralph.Task{todo("a", "a"), finished("b", "b")}, nil},
		{"byte order mark", "\ufeff- [ ] a\n- [x] b\n", []ralph.Task{todo("a", "a"), finished("b", "b")}, nil},
		{
			"tabs",
			"-\t[ ]\ta\n\t- [ ] one\n-\t[x] b\n- [\t] c\n",
			[]ralph.Task{accepted(todo("a", "a"), "one"), finished("b", "b"), todo("c", "c")},
			nil,
		},
		{"no final newline", "- [ ] a\n- [x] b", []ralph.Task{todo("a", "a"), finished("b", "b")}, nil},
		{"title on the next line", "- [ ]\n  a\n", []ralph.Task{todo("a", "a")}, nil},
		{"loose list", "- [ ] a\n\n- [x] b\n", []ralph.Task{todo("a", "a"), finished("b", "b")}, nil},
		{"code", "```\n- [ ] a\n```\n\n~~~md\n- [ ] b\n~~~\n\n- [x] c\n  ```\n  - [ ] d\n  ```\n",
			[]ralph.Task{described(finished("c", "c"), "```\n- [ ] d\n```")}, nil},
		{"fence that is never closed", "- [ ] a\n\n```\n- [ ] b\n", []ralph.Task{todo("a", "a")}, nil},
		{
			"comments and blocks of HTML",
			"<!--\n- [ ] a\n-->\n\n<div>\n- [ ] b\n</div>\n\n<!-- - [ ] c -->\n\n- [ ] d <!-- later -->\n",
			[]ralph.Task{todo("d", "d")},
			nil,
		},
		{"quotation", "> - [ ] a\n\n- [ ] b\n  > - [ ] c\n", []ralph.Task{described(todo("b", "b"), "> [ ] c")}, nil},
		{"begun and moved", "- [~] a\n- [-] b\n", []ralph.Task{todo("a", "a"), todo("b", "b")}, []string{
			"PLAN.md:1: `[~]` is read as an unticked box; write `- [ ] title` (warning)",
			"PLAN.md:2: `[-]` is read as an unticked box; write `- [ ] title` (warning)"}},
		{
			"a link is no box",
			"- [x](http://example.org) a\n- [ ](b)\n- [x]: c\n- [ ] d\n\n[x]: http://example.org\n",
			[]ralph.Task{todo("d", "d")},
			nil,
		},
		{
			"box that a definition could be meant for",
			"- [x] a\n\n[x]: http://example.org\n",
			[]ralph.Task{finished("a", "a")},
			nil,
		},
		{
			"box in a paragraph or further on",
			"[ ] a\n\n- b [ ] c\n",
			nil,
			[]string{noTasks, "PLAN.md:1: not a box: `[ ] a`; write `- [ ] title` (warning)"},
		},
		{"empty", "", nil, []string{noTasks}},
		{
			"too deep",
			"- [ ] a\n" + strings.Repeat("> - ", 60) + "[ ] b\n",
			nil,
			[]string{"PLAN.md:2: quotations or lists are nested too deeply"},
		},
		{
			"too deep, line by line",
			"- [ ] a\n" + nestedBullets(150),
			nil,
			[]string{"PLAN.md:101: quotations or lists are nested too deeply"},
		},
		{
			"too deep in a quotation",
			"- [ ] a\n\n" + nestedBullets(1) + "> " + strings.ReplaceAll(nestedBullets(150), "\n", "\n> "),
			nil,
			[]string{"PLAN.md:102: quotations or lists are nested too deeply"},
		},
		{
			"a rule, a code line and text far to the right",
			"- [ ] a\n\n" + strings.Repeat("- ", 150) + "\n```\n" + strings.Repeat(" ", 300) + "text\n```\n",
			[]ralph.Task{todo("a", "a")},
			nil,
		},
		{
			"rules across the page are not deep",
			"- [ ] a\n\n" + strings.Repeat("* ", 300) + "\n" + strings.Repeat("-", 300) + "\n",
			[]ralph.Task{todo("a", "a")},
			nil,
		},
	})
}

func TestMarkdownHeadings(t *testing.T) {
	var cases []markdownCase
	for _, name := range []string{"Optional", "optional tasks", "Future", "Future Enhancements", "Future work",
		"Nice to Have", "Nice-to-have", "🚀 Backlog!", "Stretch goals",
		"Later", "Ideas", "Out of scope", "5. Optional", "Optional (post-MVP)", "Phase 4: Optional", "Optional: polish",
		"**Optional**", "Polish (optional)", "Phase 5 (nice to have)"} {
		cases = append(
			cases,
			markdownCase{
				"optional: " + name,
				fmt.Sprintf("# Plan\n- [ ] a\n## %s\n- [ ] b\n### deeper\n- [ ] c\n## Next\n- [ ] d\n", name),
				[]ralph.Task{todo("a", "a"), optional(todo("b", "b")), optional(todo("c", "c")), todo("d", "d")},
				nil,
			},
		)
	}
	for _, name := range []string{"Success Criteria", "Acceptance criteria:", "Definition of Done", "Validation",
		"Verification ✅", "Done when", "Overview", "Notes"} {
		cases = append(
			cases,
			markdownCase{
				"no tasks: " + name,
				fmt.Sprintf("# Plan\n- [ ] a\n## %s\n- [ ] b\n### deeper\n- [ ] c\n## Next\n- [ ] d\n", name),
				[]ralph.Task{todo("a", "a"), todo("d", "d")},
				nil,
			},
		)
	}
	for _, name := range []string{"Manual", "Manual testing", "Human", "For a person", "Human tasks", "manual steps"} {
		cases = append(
			cases,
			markdownCase{"human: " + name, fmt.Sprintf("# Plan\n- [ ] a\n## %s\n- [ ] b\n## Next\n- [ ] d\n", name),
				[]ralph.Task{todo("a", "a"), human(todo("b", "b")), todo("d", "d")}, nil},
		)
	}
	for name, priority := range map[string]int{"High Priority": 1, "🟡 Medium priority": 2, "low-priority tasks": 3,
		"Critical priority": 0, "Priority 4": 4, "P1: must": 1} {
		cases = append(
			cases,
			markdownCase{
				"priority: " + name,
				fmt.Sprintf("# Plan\n## %s\n- [ ] a\n- [ ] b\n  - Priority: 7\n## Next\n- [ ] d\n", name),
				[]ralph.Task{ranked(todo("a", "a"), priority), ranked(todo("b", "b"), 7), todo("d", "d")},
				nil,
			},
		)
	}
	for _, name := range []string{"Notes API", "Validation layer", "Validation: input forms", "Future-proof the API",
		"Manual pages", "Optionality", "API (notes)"} {
		cases = append(
			cases,
			markdownCase{"just work: " + name, fmt.Sprintf("# Plan\n## %s\n- [ ] a\n", name), []ralph.Task{todo("a", "a")}, nil},
		)
	}
	checkMarkdown(t, append(
		cases,
		markdownCase{
			"the title governs nothing",
			"<!-- x -->\n# Backlog\n- [ ] a\n## Optional\n- [ ] b\n",
			[]ralph.Task{todo("a", "a"), optional(todo("b", "b"))},
			nil,
		},
		markdownCase{
			"no title",
			"- [ ] a\n\n# Optional\n- [ ] b\n",
			[]ralph.Task{todo("a", "a"), optional(todo("b", "b"))},
			nil,
		},
		markdownCase{
			"underlined",
			"Plan\n====\n\nOptional\n--------\n- [ ] a\n\nRest\n----\n- [ ] b\n",
			[]ralph.Task{optional(todo("a", "a")), todo("b", "b")},
			nil,
		},
		markdownCase{
			"a lower level ends it",
			"# A\n### Optional\n- [ ] a\n## B\n- [ ] b\n",
			[]ralph.Task{optional(todo("a", "a")), todo("b", "b")},
			nil,
		},
		markdownCase{
			"labels",
			"**Optional:**\n- [ ] a\n\nSuccess criteria:\n\n- [ ] b\n\nPlain text\n\n- [ ] c\n- Notes:\n  - [ ] d\n" +
				"- **Manual**\n  - [ ] e\n",
			[]ralph.Task{optional(todo("a", "a")), todo("c", "c"), human(todo("e", "e"))},
			nil,
		},
		markdownCase{"both", "# A\n## Optional\n### Manual\n- [ ] a\n", []ralph.Task{human(optional(todo("a", "a")))}, nil},
	))
}

func TestMarkdownTitles(t *testing.T) {
	checkMarkdown(t, []markdownCase{
		{
			"markup",
			"- [ ] **Bold** _it_ `a*b` [label](http://example.org/x) ~~old~~ <b>x</b> \\*star &amp; ![pic](p.png) " +
				"<https://example.org>\n",
			[]ralph.Task{
				todo("bold-it-a-b-label-old-x-star-pic-https", "Bold it a*b label old x *star & pic https://example.org"),
			},
			nil,
		},
		{
			"reference",
			"- [ ] see [the spec][1] and [notes]\n\n[1]: http://example.org\n",
			[]ralph.Task{todo("see-the-spec-and-notes", "see the spec and [notes]")},
			nil,
		},
		{
			"Unicode",
			"- [ ] Größe übernehmen\n- [ ] 修复登录\n- [ ] 修复 API 问题\n- [ ] 🚀\n",
			[]ralph.Task{
				todo("grosse-ubernehmen", "Größe übernehmen"),
				todo("item-7344bd6f", "修复登录"),
				todo("item-7d5bccc5", "修复 API 问题"),
				todo("item-ebbc0b28", "🚀"),
			},
			nil,
		},
		{
			"several lines",
			"- [ ] One title over\n  two lines\n- [ ] broken\\\n  here\n",
			[]ralph.Task{
				todo("one-title-over-two-lines", "One title over two lines"),
				described(todo("broken", "broken"), "here"),
			},
			nil,
		},
		{
			"marks",
			"- [ ] a (human)\n- [ ] (manual) b\n- [ ] c [human]: then\n- [ ] d @human\n- [ ] e *(optional)*\n" +
				"- [ ] f (OPTIONAL).\n- [ ]* g\n",
			[]ralph.Task{
				human(todo("a", "a")),
				human(todo("b", "b")),
				human(todo("c-then", "c: then")),
				human(todo("d", "d")),
				optional(todo("e", "e")),
				optional(todo("f", "f.")),
				optional(todo("g", "g")),
			},
			nil,
		},
		{
			"no marks",
			"- [ ] a `(human)`\n- [ ] mail me@human.example\n- [ ] f(optional)\n- [ ] @humans\n",
			[]ralph.Task{
				todo("a-human", "a (human)"),
				todo("mail-me-human-example", "mail me@human.example"),
				todo("f-optional", "f(optional)"),
				todo("humans", "@humans"),
			},
			nil,
		},
		{
			"done marks are not part of it",
			"- [x] a ✅\n- [x] ✔ b (done)\n- [x] ~~c~~\n- [ ] d:\n",
			[]ralph.Task{finished("a", "a"), finished("b", "b"), finished("c", "c"), todo("d", "d")},
			nil,
		},
		{"nothing but a mark", "- [ ] (human)\n", []ralph.Task{human(todo("human", "(human)"))}, nil},
		{"too long", "- [ ] T-1: " + strings.Repeat("word ", 1000) + "\n", []ralph.Task{described(
			todo("T-1", strings.Repeat("word ", 408)+"wor"), "T-1: "+strings.TrimSpace(strings.Repeat("word ", 1000)))}, nil},
	})
}

func TestMarkdownIDs(t *testing.T) {
	checkMarkdown(t, []markdownCase{
		{
			"given",
			"- [ ] T-003: a\n- [ ] **TASK-7** b\n- [ ] [US-001] c\n- [ ] `AUTH-2` d\n- [ ] **FE-9:** e\n- [ ] (T-4) f\n" +
				"- [ ] T-5 - g\n- [ ] T006 h\n- [ ] T-7\n- [ ] [API-3](x.md) i\n- [ ] T-8. j\n",
			[]ralph.Task{
				todo("T-003", "a"),
				todo("TASK-7", "b"),
				todo("US-001", "c"),
				todo("AUTH-2", "d"),
				todo("FE-9", "e"),
				todo("T-4", "f"),
				todo("T-5", "g"),
				todo("T006", "h"),
				todo("T-7", "T-7"),
				todo("API-3", "i"),
				todo("T-8", "j"),
			},
			nil,
		},
		{
			"words with numbers",
			"- [ ] UTF-8 input\n- [ ] S3: upload\n- [ ] 1.2 Title\n- [ ] 3. Title\n- [ ] T-shirt sizes\n- [ ] Task 3: go\n",
			[]ralph.Task{
				todo("utf-8-input", "UTF-8 input"),
				todo("s3-upload", "S3: upload"),
				todo("1-2-title", "1.2 Title"),
				todo("3-title", "3. Title"),
				todo("t-shirt-sizes", "T-shirt sizes"),
				todo("task-3-go", "Task 3: go"),
			},
			nil,
		},
		{
			"same title",
			"- [ ] Tests\n- [ ] tests!\n- [ ] Tests 2\n- [ ] Tests\n",
			[]ralph.Task{
				todo("tests", "Tests"),
				todo("tests-3", "tests!"),
				todo("tests-2", "Tests 2"),
				todo("tests-4", "Tests"),
			},
			nil,
		},
		{
			"long",
			"- [ ] one two three four five six seven eight nine ten\n- [ ] " + strings.Repeat(
				"a",
				50,
			) + "\n- [ ] " + strings.Repeat(
				"a",
				50,
			) + "\n",
			[]ralph.Task{
				todo("one-two-three-four-five-six-seven-eight", "one two three four five six seven eight nine ten"),
				todo(strings.Repeat("a", 40), strings.Repeat("a", 50)),
				todo(strings.Repeat("a", 38)+"-2", strings.Repeat("a", 50)),
			},
			nil,
		},
		{"a given one comes first", "- [ ] T 1\n- [ ] t-1: b\n", []ralph.Task{todo("t-1-2", "T 1"), todo("t-1", "b")}, nil},
		{
			"given twice is left to the check of all formats",
			"- [ ] T-1: a\n- [x] T-1: b\n",
			[]ralph.Task{todo("T-1", "a"), finished("T-1", "b")},
			nil,
		},
	})
}

// nestedBullets are bullets, each within the one on the line before.
func nestedBullets(depth int) string {
	var b strings.Builder
	for level := range depth {
		b.WriteString(strings.Repeat("  ", level+1) + "-\n")
	}
	return b.String()
}

func TestMarkdownIDsStayWhenOthersMove(t *testing.T) {
	rows := []string{"- [ ] Set up the project", "- [ ] T-9: Second", "- [x] 修复登录", "- [ ] Write tests"}
	ids := func(rows ...string) map[string]string {
		out := map[string]string{}
		got, _ := markdown{}.parse(markdownSource(strings.Join(rows, "\n")))
		for _, it := range got {
			out[it.Title] = it.ID
		}
		return out
	}
	want := ids(rows...)
	if diff := cmp.Diff(want, ids(rows[3], rows[1], rows[0], rows[2])); diff != "" {
		t.Errorf("after moving (-want +got):\n%s", diff)
	}
	more := ids(append([]string{"- [ ] New one"}, rows...)...)
	delete(more, "New one")
	if diff := cmp.Diff(want, more); diff != "" {
		t.Errorf("after adding (-want +got):\n%s", diff)
	}
	delete(want, "Set up the project")
	if diff := cmp.Diff(want, ids(rows[1:]...)); diff != "" {
		t.Errorf("after removing (-want +got):\n%s", diff)
	}
}
