package plan

import (
	"testing"

	"github.com/ralphloop/ralph"
)

func TestMarkdownFields(t *testing.T) {
	one := todo("a", "a")
	checkMarkdown(t, []markdownCase{
		{
			"depends on",
			"- [ ] T-1: a\n- [ ] T-2: Second thing\n- [ ] c\n  - Depends on: T-1, second thing\n- [ ] d\n" +
				"  - **Depends on:** `t-1` and T-2\n- [ ] e\n  - depends_on: none\n" +
				"- [ ] f\n  - Dependencies:\n    - T-1 (the first)\n    - T-2: Second thing\n- [ ] g\n  _Blocked by: T-1; T-9_\n",
			[]ralph.Task{
				todo("T-1", "a"),
				todo("T-2", "Second thing"),
				after(todo("c", "c"), "T-1", "T-2"),
				after(todo("d", "d"), "T-1", "T-2"),
				todo("e", "e"),
				after(todo("f", "f"), "T-1", "T-2"),
				after(todo("g", "g"), "T-1", "T-9"),
			},
			nil,
		},
		{
			"priority",
			"- [ ] a\n  - Priority: 2\n- [ ] b\n  - priority: HIGH\n- [ ] c\n  - **Priority**: P0\n- [ ] d\n" +
				"  Priority: low\n- [ ] e\n  - Priority: `-1`\n",
			[]ralph.Task{
				ranked(one, 2),
				ranked(todo("b", "b"), 1),
				ranked(todo("c", "c"), 0),
				ranked(todo("d", "d"), 3),
				ranked(todo("e", "e"), -1),
			},
			nil,
		},
		{"priority that is none", "# P\n## High priority\n- [ ] a\n  - Priority: soon\n", []ralph.Task{ranked(one, 1)},
			[]string{"PLAN.md:3: priority \"soon\" is not a number; choose a number, or one of: high, medium, low (warning)"}},
		{
			"checks",
			"- [ ] a\n  - Check: `go test ./...`\n  - Checks: `make lint`, and ``echo `x` ``\n  - Checks:\n    - `one`\n" +
				"    - `two`\n\n  Checks:\n  ```sh\n  make a\n\n  make b\n  ```\n",
			[]ralph.Task{checkedBy(one, "go test ./...", "make lint", "echo `x`", "one", "two", "make a", "make b")},
			nil,
		},
		{
			"a check in prose",
			"- [ ] a\n  - Check: a wrong password shows an error\n",
			[]ralph.Task{described(one, "Check: a wrong password shows an error")},
			[]string{
				`PLAN.md:1: "Check: a wrong password shows an error" is not a command; write commands in backticks (warning)`,
			},
		},
		{
			"spec and category",
			"- [ ] a\n  - Spec: specs/a.md\n  - Category: ui\n- [ ] b\n  - Spec: [the spec](specs/b.md)\n- [ ] c\n" +
				"  - Spec: `specs/c.md`\n",
			[]ralph.Task{
				{ID: "a", Title: "a", SpecFile: "specs/a.md", Category: "ui", Status: ralph.TaskPending},
				{ID: "b", Title: "b", SpecFile: "specs/b.md", Status: ralph.TaskPending},
				{ID: "c", Title: "c", SpecFile: "specs/c.md", Status: ralph.TaskPending},
			},
			nil,
		},
		{
			"acceptance",
			"- [ ] a\n  - Acceptance: it `works`\n  - Acceptance criteria:\n    - first ✅\n      with a second line\n" +
				"    - [x] second\n  - [ ] third\n\n  **Done when**\n\n  1. fourth\n\n  Plain text.\n",
			[]ralph.Task{
				described(accepted(one, "it `works`", "first ✅ with a second line", "second", "third", "fourth"), "Plain text."),
			},
			nil,
		},
		{
			"steps for a person or for nobody",
			"- [ ] a\n  - [ ] one\n  - [ ] click (manual)\n    - [ ] and again\n  - [ ] more (optional)\n" +
				"  - Manual testing:\n    - [ ] look\n    - listen\n",
			[]ralph.Task{
				described(
					accepted(one, "one"),
					"For a person: click (manual)\n\nFor a person: and again\n\nOptional: more (optional)\n\nFor a person: look\n"+
						"\nFor a person: listen",
				),
			},
			nil,
		},
		{
			"description",
			"- [ ] a\n  - Create: `x.go`\n    - deeper\n  - then\n\n  Text *with* markup\n  on two lines.\n\n  1. x\n" +
				"  2. y\n\n  ```go\n  f()\n  ```\n\n      indented\n\n  > said\n\n  <b>html</b>\n\n  <!-- not this -->\n",
			[]ralph.Task{
				described(
					one,
					"- Create: `x.go`\n  - deeper\n- then\n\nText *with* markup\non two lines.\n\n1. x\n2. y\n\n```go\nf()\n```\n"+
						"\n    indented\n\n> said\n\n<b>html</b>",
				),
			},
			nil,
		},
		{
			"boxes below plain text are steps",
			"- [ ] a\n  - Files\n    - [ ] one\n    - b.go\n- [ ] Description: b\n  - Description: c\n",
			[]ralph.Task{
				described(accepted(one, "one"), "- Files\n  - b.go"),
				described(todo("description-b", "Description: b"), "c"),
			},
			nil,
		},
		{
			"details of a step",
			"- [ ] a\n  - [ ] one\n    - like this\n\n    and that\n",
			[]ralph.Task{accepted(one, "one\n  - like this\n  and that")},
			nil,
		},
	})
}

func TestMarkdownSections(t *testing.T) {
	const noBox = " has no box, so its state cannot be saved; add `- [ ] step` (warning)"
	checkMarkdown(t, []markdownCase{
		{
			"names",
			"# Plan\n### Task 1: A\n- [x] a\n#### Task 2.1 - B\n- [ ] b\n## task #3. C\n- [x] c\n- [ ] d\n# Task T-4: D\n" +
				"- [x] e\n### ✅ Iteration 5\n- [x] f\n### US-006: F ✅\n- [x] g\n### **Task 7:** `G`\n- [ ] h\n### Task 8 H\n" +
				"- [ ] i\n",
			[]ralph.Task{
				accepted(finished("Task-1", "A"), "a"),
				accepted(todo("Task-2.1", "B"), "b"),
				accepted(todo("Task-3", "C"), "c", "d"),
				accepted(finished("T-4", "D"), "e"),
				accepted(
					finished("Iteration-5", "Iteration 5"),
					"f",
				),
				accepted(finished("US-006", "F"), "g"),
				accepted(todo("Task-7", "G"), "h"),
				accepted(todo("Task-8", "H"), "i"),
			},
			nil,
		},
		{
			"no names",
			"# Plan\n## Task list\n- [ ] a\n## Tasks 1-3\n- [ ] b\n## Task 1-3 overview\n- [ ] c\n## Task OAuth2 login\n" +
				"- [ ] d\n## Task\n- [ ] e\n",
			[]ralph.Task{todo("a", "a"), todo("b", "b"), todo("c", "c"), todo("d", "d"), todo("e", "e")},
			nil,
		},
		{
			"boxes elsewhere are nobody's",
			"# Plan\n- [ ] x\n## Validation commands\n- [ ] x\n### Task 1: A\n- [x] a\n## Notes\n- [ ] x\n### Task 2: B\n" +
				"- [ ] b\n# Success criteria\n- [ ] x\n",
			[]ralph.Task{accepted(finished("Task-1", "A"), "a"), accepted(todo("Task-2", "B"), "b")},
			nil,
		},
		{
			"criteria under a heading of their own",
			"## Task 1: A\n### Acceptance criteria\n- [x] a\n- b\n### Files\n- c.go\n### Notes\n- [ ] d\n",
			[]ralph.Task{described(accepted(todo("Task-1", "A"), "a", "b", "d"), "### Files\n\n- c.go\n\n### Notes")},
			nil,
		},
		{
			"what only a person can do",
			"## Task 1: A\n- [x] a\n- [ ] (human) b\n### Manual testing\n- [ ] c\n### Optional\n- [ ] d\n### Verification\n" +
				"- [x] e\n## Task 2: B\n- [ ] f (manual)\n## Task 3: C\n- [x] g (optional)\n",
			[]ralph.Task{
				described(accepted(finished("Task-1", "A"), "a", "e"), "For a person: (human) b\n\nFor a person: c\n\nOptional: d"),
				described(
					human(todo("Task-2", "B")),
					"For a person: f (manual)",
				),
				described(optional(finished("Task-3", "C")), "Optional: g (optional)"),
			},
			nil,
		},
		{
			"fields",
			"## Low priority\n### Task 1: A (optional)\n- [ ] a\n### Task 2: B\n\nPriority: high\nDepends on: Task 1\n\n" +
				"**Check:** `make b`\n\nText.\n\n- [ ] b\n- Spec: b.md\n### Task 3: C (human)\nDepends on: 1, #2\n- [ ] c\n",
			[]ralph.Task{
				ranked(accepted(optional(todo("Task-1", "A")), "a"), 3),
				{
					ID:          "Task-2",
					Title:       "B",
					Description: "Text.",
					Acceptance:  []string{"b"},
					DependsOn:   []string{"Task-1"},
					Checks:      []string{"make b"},
					Priority:    number(1),
					SpecFile:    "b.md",
					Status:      ralph.TaskPending,
				},
				ranked(after(accepted(human(todo("Task-3", "C")), "c"), "Task-1", "Task-2"), 3),
			},
			nil,
		},
		{
			"box in the heading",
			"## [ ] Task 1: A\n## [x] Task 2: B\n## [x] Task 3: C\n- [ ] a\n## [ ] Task 4: D\n- [x] b\n## [x] Task 5: E\n" +
				"- [x] c\n",
			[]ralph.Task{
				todo("Task-1", "A"),
				finished("Task-2", "B"),
				accepted(todo("Task-3", "C"), "a"),
				accepted(todo("Task-4", "D"), "b"),
				accepted(finished("Task-5", "E"), "c"),
			},
			nil,
		},
		{
			"no box",
			"## Task 1: A ✅\ntext\n## Task 2: B\n- [ ] b\n",
			[]ralph.Task{described(todo("Task-1", "A"), "text"), accepted(todo("Task-2", "B"), "b")},
			[]string{"PLAN.md:1: section Task-1" + noBox},
		},
		{
			"parts",
			"## Task 1: A\n### Task 1.1: AA\n- [x] a\n### Task 1.2: AB\n- [ ] b\n## Task 2: B\n- [x] c\n### Task 2.1: BA\n" +
				"- [ ] d\n### More\n- [x] e\n",
			[]ralph.Task{
				accepted(finished("Task-1.1", "AA"), "a"),
				accepted(todo("Task-1.2", "AB"), "b"),
				described(accepted(finished("Task-2", "B"), "c", "e"), "### More"),
				accepted(todo("Task-2.1", "BA"), "d"),
			},
			nil,
		},
		{
			"optional and human above",
			"# Plan\n## Future\n### Task 1: A\n- [ ] a\n## Manual\n### Task 2: B\n- [ ] b\n## Rest\n### Task 3: C\n- [ ] c\n",
			[]ralph.Task{
				accepted(optional(todo("Task-1", "A")), "a"),
				accepted(human(todo("Task-2", "B")), "b"),
				accepted(todo("Task-3", "C"), "c"),
			},
			nil,
		},
		{
			"underlined and closed",
			"Task 1: A\n---------\n- [ ] a\n\n### Task 2: B ###\n- [ ] b\n",
			[]ralph.Task{accepted(todo("Task-1", "A"), "a"), accepted(todo("Task-2", "B"), "b")},
			nil,
		},
		{
			"in code or a quotation",
			"```\n### Task 1: A\n```\n> ### Task 2: B\n\n- [ ] a\n",
			[]ralph.Task{todo("a", "a")},
			nil,
		},
	})
}

func TestMarkdownFalseBoxes(t *testing.T) {
	const write = "; write `- [ ] title` (warning)"
	a := []ralph.Task{todo("a", "a")}
	checkMarkdown(t, []markdownCase{
		{
			"malformed",
			"- [ ] a\n- [] b\n- [ x ] c\n- [  ] d\n- [x ] e\n- [✓] f\n- [ ]g\n",
			a,
			[]string{
				"PLAN.md:2: not a box: `- [] b`" + write,
				"PLAN.md:3: not a box: `- [ x ] c`" + write,
				"PLAN.md:4: not a box: `- [  ] d`" + write,
				"PLAN.md:5: not a box: `- [x ] e`" + write,
				"PLAN.md:6: not a box: `- [✓] f`" + write,
				"PLAN.md:7: not a box: `- [ ]g`" + write,
			},
		},
		{
			"glued to the bullet",
			"- [ ] a\n\n-[ ] b\n*[x] c\n1.[ ] d\n• [ ] e\n",
			a,
			[]string{
				"PLAN.md:3: not a box: `-[ ] b`" + write,
				"PLAN.md:4: not a box: `*[x] c`" + write,
				"PLAN.md:5: not a box: `1.[ ] d`" + write,
				"PLAN.md:6: not a box: `• [ ] e`" + write,
			},
		},
		{
			"taken for the text of the item before",
			"- [ ] a\n-[ ] b\n",
			[]ralph.Task{todo("a-b", "a -[ ] b")},
			[]string{"PLAN.md:2: not a box: `-[ ] b`" + write},
		},
		{
			"no title",
			"- [ ] a\n- [ ]\n- [x]\n",
			a,
			[]string{
				"PLAN.md:2: a box without a title is not a task" + write,
				"PLAN.md:3: a box without a title is not a task" + write,
			},
		},
		{
			"indented too far",
			"- [ ] a\n\nText\n\n    - [ ] b\n",
			a,
			[]string{"PLAN.md:5: a box indented this far is code, not a task; indent it less (warning)"},
		},
		{
			"meant literally",
			"- [ ] a\n\n```\n-[ ] b\n```\n\n> - [] c\n\n- [1] note\n- [x](y) link\n- [P] other\n- `[]` d\n",
			a,
			nil,
		},
	})
}
