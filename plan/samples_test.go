package plan

import "github.com/ralphloop/ralph"

func number(n int) *int { return &n }

func init() { samples = append(samples, ownSample, agentSample, caseSample, storiesSample) }

var ownSample = sample{
	name:   "ralph",
	format: "ralph",
	path:   ".ralph/tasks.json",
	files: map[string]string{".ralph/tasks.json": `{
  "$schema": "https://example.org/tasks.schema.json",
  "version": 1,
  "tasks": [
    {
      "id": "T-001",
      "title": "Read the list",
      "description": "Every format.",
      "acceptance": ["A list is read", "Bytes are kept"],
      "priority": 2,
      "status": "pending"
    },
    { "status": "done", "id": "T-002", "title": "L\u00f6schen", "checks": ["go test ./..."], "category": "setup" },
    {
      "id": "T-003",
      "title": "Write the list",
      "depends_on": ["T-001", "T-002"],
      "optional": true,
      "human": false,
      "status": "pending"
    }
  ]
}
`},
	tasks: []ralph.Task{
		{
			ID:          "T-001",
			Title:       "Read the list",
			Description: "Every format.",
			Acceptance:  []string{"A list is read", "Bytes are kept"},
			Priority:    number(2),
			Status:      ralph.TaskPending,
		},
		{ID: "T-002", Title: "Löschen", Checks: []string{"go test ./..."}, Category: "setup", Status: ralph.TaskDone},
		{
			ID:        "T-003",
			Title:     "Write the list",
			DependsOn: []string{"T-001", "T-002"},
			Optional:  true,
			Status:    ralph.TaskPending,
		},
	},
	done: change{
		old: "\"priority\": 2,\n      \"status\": \"pending\"",
		new: "\"priority\": 2,\n      \"status\": \"done\"",
	},
	undone: change{old: `"status": "done", "id": "T-002"`, new: `"status": "pending", "id": "T-002"`},
	failed: change{
		old: "\"priority\": 2,\n      \"status\": \"pending\"",
		new: "\"priority\": 2,\n      \"status\": \"failed\"",
	},
	gone: change{old: `,
    {
      "id": "T-003",
      "title": "Write the list",
      "depends_on": ["T-001", "T-002"],
      "optional": true,
      "human": false,
      "status": "pending"
    }`, new: ""},
	weaker: change{old: "Bytes are kept", new: "Bytes are mostly kept"},
	added: change{
		old: "\"human\": false,\n      \"status\": \"pending\"\n    }",
		new: "\"human\": false,\n      \"status\": \"pending\"\n    },\n" +
			"    {\"id\": \"T-004\", \"title\": \"Rest\", \"status\": \"pending\"}",
	},
	addedID: "T-004",
	trick: change{
		old: "\"human\": false,\n      \"status\": \"pending\"\n    }",
		new: "\"human\": false,\n      \"status\": \"pending\"\n    },\n" +
			"    {\"id\": \"T-004\", \"title\": \"Rest\", \"status\": \"done\"}",
	},
	swapped: change{old: `    {
      "id": "T-001",
      "title": "Read the list",
      "description": "Every format.",
      "acceptance": ["A list is read", "Bytes are kept"],
      "priority": 2,
      "status": "pending"
    },
    { "status": "done", "id": "T-002", "title": "L\u00f6schen", "checks": ["go test ./..."], "category": "setup" },
    {
      "id": "T-003",
      "title": "Write the list",
      "depends_on": ["T-001", "T-002"],
      "optional": true,
      "human": false,
      "status": "pending"
    }`, new: `    {
      "id": "T-003",
      "title": "Write the list",
      "depends_on": ["T-001", "T-002"],
      "optional": true,
      "human": false,
      "status": "pending"
    },
    { "status": "done", "id": "T-002", "title": "L\u00f6schen", "checks": ["go test ./..."], "category": "setup" },
    {
      "id": "T-001",
      "title": "Read the list",
      "description": "Every format.",
      "acceptance": ["A list is read", "Bytes are kept"],
      "priority": 2,
      "status": "pending"
    }`},
	prose:  change{old: `{ "status": "done", "id": "T-002", `, new: `{"id":"T-002",   "status":"done", `},
	broken: change{old: "\"status\": \"pending\"\n    }\n  ]", new: "\"status\": \"pending\"\n    },\n  ]"},
}

// The list of an .agent folder, with Windows line ends and without a line break at its end.
var agentSample = sample{
	name:   "agent-folder",
	format: "agent-folder",
	path:   ".agent/tasks.json",
	files: map[string]string{
		".agent/tasks.json": "[\r\n" +
			"  {\"id\": \"TASK-1\", \"title\": \"Check prerequisites\", \"category\": \"setup\", \"specFilePath\": " +
			"\".agent/tasks/TASK-1.json\", \"passes\": false, \"priority\": 1},\r\n" +
			"  {\"id\": \"TASK-2\", \"title\": \"Log in\", \"category\": \"functional\", \"specFilePath\": " +
			"\".agent/tasks/TASK-2.json\", \"passes\": true},\r\n" +
			"  {\"id\": \"TASK-3\", \"title\": \"Log out\", \"category\": \"functional\", \"specFilePath\": " +
			"\".agent/tasks/TASK-3.json\"}\r\n" +
			"]",
		".agent/tasks/TASK-1.json": `{"id": "TASK-1", "title": "Check prerequisites", "category": "setup",
 "description": "The environment is complete.",
 "acceptanceCriteria": ["DATABASE_URL is set", "The server starts"],
 "steps": [{"step": 1, "description": "Look at the environment", "details": "names only", "pass": false}],
 "technicalNotes": ["Never print values"], "estimatedComplexity": "low"}
`,
		".agent/tasks/TASK-2.json": `{"id":"TASK-2","description":"A form.","acceptanceCriteria":[],` +
			`"dependencies":["TASK-1"]}`,
		".agent/tasks/TASK-3.json": `{"id":"TASK-3","acceptanceCriteria":["The session is gone"],` +
			`"dependencies":["TASK-2"],"steps":[]}`,
	},
	tasks: []ralph.Task{
		{
			ID:       "TASK-1",
			Title:    "Check prerequisites",
			Category: "setup",
			Priority: number(1),
			SpecFile: ".agent/tasks/TASK-1.json",
			Status:   ralph.TaskPending,
			Description: "The environment is complete.\n\nSteps:\n- Look at the environment: names only\n\nNotes:\n" +
				"- Never print values",
			Acceptance: []string{"DATABASE_URL is set", "The server starts"},
		},
		{ID: "TASK-2", Title: "Log in", Category: "functional", SpecFile: ".agent/tasks/TASK-2.json", Status: ralph.TaskDone,
			Description: "A form.", DependsOn: []string{"TASK-1"}},
		{
			ID:         "TASK-3",
			Title:      "Log out",
			Category:   "functional",
			SpecFile:   ".agent/tasks/TASK-3.json",
			Status:     ralph.TaskPending,
			Acceptance: []string{"The session is gone"},
			DependsOn:  []string{"TASK-2"},
		},
	},
	done:   change{old: `TASK-1.json", "passes": false`, new: `TASK-1.json", "passes": true`},
	undone: change{old: `TASK-2.json", "passes": true`, new: `TASK-2.json", "passes": false`},
	gone: change{
		old: ",\r\n  {\"id\": \"TASK-3\", \"title\": \"Log out\", \"category\": \"functional\", \"specFilePath\": " +
			"\".agent/tasks/TASK-3.json\"}",
		new: "",
	},
	weaker: change{file: ".agent/tasks/TASK-1.json", old: "The server starts", new: "The server may start"},
	added: change{
		old: "TASK-3.json\"}",
		new: "TASK-3.json\"}, {\"id\": \"TASK-4\", \"title\": \"Rest\", \"passes\": false}",
	},
	addedID: "TASK-4",
	trick: change{
		old: "TASK-3.json\"}",
		new: "TASK-3.json\"}, {\"id\": \"TASK-4\", \"title\": \"Rest\", \"passes\": true}",
	},
	swapped: change{
		old: "  {\"id\": \"TASK-1\", \"title\": \"Check prerequisites\", \"category\": \"setup\", \"specFilePath\": " +
			"\".agent/tasks/TASK-1.json\", \"passes\": false, \"priority\": 1},\r\n" +
			"  {\"id\": \"TASK-2\", \"title\": \"Log in\", \"category\": \"functional\", \"specFilePath\": " +
			"\".agent/tasks/TASK-2.json\", \"passes\": true},\r\n" +
			"  {\"id\": \"TASK-3\", \"title\": \"Log out\", \"category\": \"functional\", \"specFilePath\": " +
			"\".agent/tasks/TASK-3.json\"}\r\n",
		new: "  {\"id\": \"TASK-3\", \"title\": \"Log out\", \"category\": \"functional\", \"specFilePath\": " +
			"\".agent/tasks/TASK-3.json\"},\r\n" +
			"  {\"id\": \"TASK-2\", \"title\": \"Log in\", \"category\": \"functional\", \"specFilePath\": " +
			"\".agent/tasks/TASK-2.json\", \"passes\": true},\r\n" +
			"  {\"id\": \"TASK-1\", \"title\": \"Check prerequisites\", \"category\": \"setup\", \"specFilePath\": " +
			"\".agent/tasks/TASK-1.json\", \"passes\": false, \"priority\": 1}\r\n",
	},
	prose:  change{file: ".agent/tasks/TASK-1.json", old: `"pass": false`, new: `"pass": true`},
	broken: change{old: "\r\n]", new: "\r\n"},
}

var caseSample = sample{
	name:   "prd-tasks",
	format: "prd-tasks",
	path:   "prd.json",
	files: map[string]string{"prd.json": "\ufeff" + `[
	{
		"id" : "T-001",
		"title" : "Add",
		"description" : "Add two numbers",
		"acceptance_criteria" : [ "1 + 1 is 2" ],
		"status" : "pending",
		"note": 1.50, "note": 2E3
	},
	{
		"id" : "T-002",
		"title" : "Subtract",
		"description" : "",
		"acceptance_criteria" : [ "2 - 1 is 1", "0 - 1 is -1" ],
		"status" : "done"
	},
	{
		"id" : "T-003",
		"title" : "Multiply",
		"acceptance_criteria" : [ "2 * 2 is 4" ]
	}
]

`},
	tasks: []ralph.Task{
		{
			ID:          "T-001",
			Title:       "Add",
			Description: "Add two numbers",
			Acceptance:  []string{"1 + 1 is 2"},
			Status:      ralph.TaskPending,
		},
		{ID: "T-002", Title: "Subtract", Acceptance: []string{"2 - 1 is 1", "0 - 1 is -1"}, Status: ralph.TaskDone},
		{ID: "T-003", Title: "Multiply", Acceptance: []string{"2 * 2 is 4"}, Status: ralph.TaskPending},
	},
	done:   change{old: `"status" : "pending"`, new: `"status" : "done"`},
	undone: change{old: "is -1\" ],\n\t\t\"status\" : \"done\"", new: "is -1\" ],\n\t\t\"status\" : \"pending\""},
	failed: change{old: `"status" : "pending"`, new: `"status" : "failed"`},
	gone: change{
		old: ",\n\t{\n\t\t\"id\" : \"T-003\",\n\t\t\"title\" : \"Multiply\",\n" +
			"\t\t\"acceptance_criteria\" : [ \"2 * 2 is 4\" ]\n\t}",
		new: "",
	},
	weaker: change{old: `"1 + 1 is 2"`, new: `"1 + 1 is about 2"`},
	added: change{
		old: "[ \"2 * 2 is 4\" ]\n\t}",
		new: "[ \"2 * 2 is 4\" ]\n\t},\n\t{\"id\": \"T-004\", \"title\": \"Divide\", \"status\": \"pending\"}",
	},
	addedID: "T-004",
	trick: change{
		old: "[ \"2 * 2 is 4\" ]\n\t}",
		new: "[ \"2 * 2 is 4\" ]\n\t},\n\t{\"id\": \"T-004\", \"title\": \"Divide\", \"status\": \"done\"}",
	},
	swapped: change{
		old: `	{
		"id" : "T-001",
		"title" : "Add",
		"description" : "Add two numbers",
		"acceptance_criteria" : [ "1 + 1 is 2" ],
		"status" : "pending",
		"note": 1.50, "note": 2E3
	},
	{
		"id" : "T-002",
		"title" : "Subtract",
		"description" : "",
		"acceptance_criteria" : [ "2 - 1 is 1", "0 - 1 is -1" ],
		"status" : "done"
	},
	{
		"id" : "T-003",
		"title" : "Multiply",
		"acceptance_criteria" : [ "2 * 2 is 4" ]
	}`,
		new: `	{
		"id" : "T-003",
		"title" : "Multiply",
		"acceptance_criteria" : [ "2 * 2 is 4" ]
	},
	{
		"id" : "T-002",
		"title" : "Subtract",
		"description" : "",
		"acceptance_criteria" : [ "2 - 1 is 1", "0 - 1 is -1" ],
		"status" : "done"
	},
	{
		"id" : "T-001",
		"title" : "Add",
		"description" : "Add two numbers",
		"acceptance_criteria" : [ "1 + 1 is 2" ],
		"status" : "pending"
	}`},
	prose:  change{old: `"note": 1.50, "note": 2E3`, new: `"note": "half way"`},
	broken: change{old: "\"T-002\",", new: "\"T-002\""},
}

// The user stories of storiesSample.
const (
	basketStory = `{"id":"US-001","title":"Basket","description":"As a buyer",` +
		`"acceptanceCriteria":["It holds goods","Typecheck passes"],"priority":1,"passes":false,"notes":""}`
	tillStory = `{"id":"US-002","title":"Till","description":"",` +
		`"acceptanceCriteria":[],"priority":"high","passes":true,"notes":"done on Monday"}`
	billStory = `{"id":"US-003","title":"Bill <PDF>","description":"",` +
		`"acceptanceCriteria":["It is a \"PDF\""],"priority":3,"passes":null,"notes":""}`
)

var storiesSample = sample{
	name:   "prd-stories",
	format: "prd-stories",
	path:   "scripts/ralph/prd.json",
	files: map[string]string{
		"scripts/ralph/prd.json": `{"project":"Shop","branchName":"ralph/shop",` +
			`"description":"A shop","userStories":[` + "\n" +
			basketStory + ",\n" + tillStory + ",\n" + billStory + "\n]}",
	},
	tasks: []ralph.Task{
		{
			ID:          "US-001",
			Title:       "Basket",
			Description: "As a buyer",
			Acceptance:  []string{"It holds goods", "Typecheck passes"},
			Priority:    number(1),
			Status:      ralph.TaskPending,
		},
		{ID: "US-002", Title: "Till", Priority: number(1), Status: ralph.TaskDone},
		{
			ID:         "US-003",
			Title:      "Bill <PDF>",
			Acceptance: []string{`It is a "PDF"`},
			Priority:   number(3),
			Status:     ralph.TaskPending,
		},
	},
	done:   change{old: `"priority":1,"passes":false`, new: `"priority":1,"passes":true`},
	undone: change{old: `"priority":"high","passes":true`, new: `"priority":"high","passes":false`},
	gone: change{
		old: ",\n" + billStory,
		new: "",
	},
	weaker: change{old: `"Typecheck passes"`, new: `"Typecheck runs"`},
	added: change{
		old: `"passes":null,"notes":""}`,
		new: `"passes":null,"notes":""},{"id":"US-004","title":"Rest","passes":false}`,
	},
	addedID: "US-004",
	trick: change{
		old: `"passes":null,"notes":""}`,
		new: `"passes":null,"notes":""},{"id":"US-004","title":"Rest","passes":true}`,
	},
	swapped: change{
		old: basketStory + ",\n" + tillStory + ",\n" + billStory,
		new: billStory + ",\n" + tillStory + ",\n" + basketStory,
	},
	prose:  change{old: "done on Monday", new: "done on Monday, tested on Tuesday"},
	broken: change{old: `"project":"Shop"`, new: `"project":'Shop'`},
}
