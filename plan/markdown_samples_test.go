package plan

import "github.com/ralphloop/ralph"

func init() { samples = append(samples, checklistSample, numberedSample, sectionsSample) }

var checklistSample = sample{
	name:   "markdown",
	format: "markdown",
	path:   "IMPLEMENTATION_PLAN.md",
	files: map[string]string{"IMPLEMENTATION_PLAN.md": `# Plan

Some words.

## High priority

- [ ] **T-001**: Read the ` + "`list`" + `
  - [ ] A list is read
  - [ ] Bytes are kept
- [x] T-002: Löschen
  - Check: ` + "`go test ./...`" + `

### Rest

* [ ] T-003: Write the list
  - Depends on: T-001, T-002

## Success criteria

- [ ] Everything is done
`},
	tasks: []ralph.Task{
		{
			ID:         "T-001",
			Title:      "Read the list",
			Acceptance: []string{"A list is read", "Bytes are kept"},
			Priority:   number(1),
			Status:     ralph.TaskPending,
		},
		{ID: "T-002", Title: "Löschen", Checks: []string{"go test ./..."}, Priority: number(1), Status: ralph.TaskDone},
		{
			ID:        "T-003",
			Title:     "Write the list",
			DependsOn: []string{"T-001", "T-002"},
			Priority:  number(1),
			Status:    ralph.TaskPending,
		},
	},
	done:    change{old: "- [ ] **T-001**", new: "- [x] **T-001**"},
	undone:  change{old: "- [x] T-002", new: "- [ ] T-002"},
	gone:    change{old: "* [ ] T-003: Write the list\n  - Depends on: T-001, T-002\n", new: ""},
	weaker:  change{old: "Bytes are kept", new: "Bytes are mostly kept"},
	added:   change{old: "T-001, T-002\n", new: "T-001, T-002\n* [ ] T-004: Rest\n"},
	addedID: "T-004",
	trick:   change{old: "T-001, T-002\n", new: "T-001, T-002\n* [x] T-004: Rest\n"},
	swapped: change{
		old: "- [ ] **T-001**: Read the `list`\n  - [ ] A list is read\n  - [ ] Bytes are kept\n- [x] T-002: Löschen\n" +
			"  - Check: `go test ./...`\n\n### Rest\n\n* [ ] T-003: Write the list\n  - Depends on: T-001, T-002\n",
		new: "- [ ] T-003: Write the list\n  - Depends on: T-001, T-002\n- [x] T-002: Löschen\n" +
			"  - Check: `go test ./...`\n\n### Rest\n\n* [ ] **T-001**: Read the `list`\n  - [ ] A list is read\n" +
			"  - [ ] Bytes are kept\n",
	},
	prose: change{
		old: "  - [ ] A list is read\n  - [ ] Bytes are kept\n",
		new: "  - [x] A list is read ✅\n  - [x] Bytes are kept\n",
	},
	broken: change{old: "T-002: Löschen", new: "T-001: Löschen"},
}

var numberedSample = sample{
	name: "markdown-numbered", format: "markdown", path: ".ralph/fix_plan.md",
	files: map[string]string{".ralph/fix_plan.md": "\ufeffFix plan\r\n========\r\n\r\n" +
		"1. [ ] T-1: Read the list\r\n   Priority: 2\r\n   - Acceptance: Bytes are kept\r\n" +
		"2. [x] T-2: Check it (human)\r\n" +
		"3. [ ] T-3: Write the list (optional)"},
	tasks: []ralph.Task{
		{
			ID:         "T-1",
			Title:      "Read the list",
			Acceptance: []string{"Bytes are kept"},
			Priority:   number(2),
			Status:     ralph.TaskPending,
		},
		{ID: "T-2", Title: "Check it", Human: true, Status: ralph.TaskDone},
		{ID: "T-3", Title: "Write the list", Optional: true, Status: ralph.TaskPending},
	},
	done:    change{old: "[ ] T-1", new: "[x] T-1"},
	undone:  change{old: "[x] T-2", new: "[ ] T-2"},
	gone:    change{old: "\r\n3. [ ] T-3: Write the list (optional)", new: ""},
	weaker:  change{old: "Bytes are kept", new: "Bytes"},
	added:   change{old: "(optional)", new: "(optional)\r\n4. [ ] T-4: Rest"},
	addedID: "T-4",
	trick:   change{old: "(optional)", new: "(optional)\r\n4. [x] T-4: Rest"},
	swapped: change{
		old: "1. [ ] T-1: Read the list\r\n   Priority: 2\r\n   - Acceptance: Bytes are kept\r\n" +
			"2. [x] T-2: Check it (human)\r\n3. [ ] T-3: Write the list (optional)",
		new: "1. [ ] T-3: Write the list (optional)\r\n2. [x] T-2: Check it (human)\r\n3. [ ] T-1: Read the list\r\n" +
			"   Priority: 2\r\n   - Acceptance: Bytes are kept",
	},
	prose:  change{old: "Fix plan\r\n", new: "Fix plan, revised\r\n"},
	broken: change{old: "1. [ ] T-1: Read the list\r\n", new: "1. [ ] T-1: Read the list\r\n   Depends on: T-9\r\n"},
}

var sectionsSample = sample{
	name: "markdown-sections", format: "markdown", path: "docs/plan.md",
	files: map[string]string{"docs/plan.md": `# Plan: lists

## Overview

- [ ] an example

### Task 1: Read the list

Every format.

- [ ] A list is read
- [ ] Bytes are kept

#### Manual testing

- [ ] look at it

### Task 2: Check it

Depends on: Task 1

- [x] checked

### Task 3: Write the list (optional)

- [ ] written

## Success criteria

- [ ] everything is done
`},
	tasks: []ralph.Task{
		{
			ID:          "Task-1",
			Title:       "Read the list",
			Description: "Every format.\n\nFor a person: look at it",
			Acceptance:  []string{"A list is read", "Bytes are kept"},
			Status:      ralph.TaskPending,
		},
		{
			ID:         "Task-2",
			Title:      "Check it",
			Acceptance: []string{"checked"},
			DependsOn:  []string{"Task-1"},
			Status:     ralph.TaskDone,
		},
		{ID: "Task-3", Title: "Write the list", Acceptance: []string{"written"}, Optional: true, Status: ralph.TaskPending},
	},
	done:    change{old: "- [ ] A list is read\n- [ ]", new: "- [x] A list is read\n- [x]"},
	undone:  change{old: "- [x] checked", new: "- [ ] checked"},
	gone:    change{old: "### Task 3: Write the list (optional)\n\n- [ ] written\n\n", new: ""},
	weaker:  change{old: "Bytes are kept", new: "Bytes are mostly kept"},
	added:   change{old: "- [ ] written\n", new: "- [ ] written\n\n### Task 4: Rest\n\n- [ ] rest\n"},
	addedID: "Task-4",
	trick:   change{old: "- [ ] written\n", new: "- [ ] written\n\n### Task 4: Rest\n\n- [x] rest\n"},
	swapped: change{
		old: "### Task 1: Read the list\n\nEvery format.\n\n- [ ] A list is read\n- [ ] Bytes are kept\n\n" +
			"#### Manual testing\n\n- [ ] look at it\n\n### Task 2: Check it\n\nDepends on: Task 1\n\n- [x] checked\n\n" +
			"### Task 3: Write the list (optional)\n\n- [ ] written\n",
		new: "### Task 3: Write the list (optional)\n\n- [ ] written\n\n### Task 2: Check it\n\nDepends on: Task 1\n\n" +
			"- [x] checked\n\n### Task 1: Read the list\n\nEvery format.\n\n- [ ] A list is read\n- [ ] Bytes are kept\n\n" +
			"#### Manual testing\n\n- [ ] look at it\n",
	},
	prose:  change{old: "- [ ] an example", new: "- [x] an example ✅"},
	broken: change{old: "### Task 2", new: "### Task 1"},
}
