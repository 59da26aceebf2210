// Package plan reads, checks and manages task lists in several formats.
//
// # Formats
//
// A list's format is recognized by its content; a name only breaks ties, so --tasks may name any
// file.
//
//   - ralph: .ralph/tasks.json, {"version":1,"tasks":[…]}. It is our own format and strict: an
//     unknown key is an error.
//   - agent-folder: .agent/tasks.json, a list of {id, title, category, specFilePath, passes}, with
//     a file for each task that contains its description, criteria, dependencies and steps. The
//     state is passes in the list; whether a step is ticked is the agent's own note.
//   - prd-tasks: a list of {id, title, description, acceptance_criteria, status}.
//   - prd-stories: {"userStories":[{id, title, description, acceptanceCriteria, priority, passes,
//     notes}]}.
//   - taskmaster: Task Master's tasks.json, {"tasks":[…]} or a list for each tag. Subtasks are the
//     work; their task is done when they are.
//   - ralphy: {title, completed, description, parallel_group} under tasks, in YAML.
//   - markdown: check boxes, or sections named "Task N".
//
// A format is a pair of pure functions over bytes: one reads tasks, the other changes only the
// bytes of a state. White space, key order, line endings, escapes and all unknown content stay as
// the user wrote them.
//
// # The list of a run
//
// A [Tracker] manages the list during a run. It keeps copies of the last good files outside the
// workspace, so that it always knows what an agent did to the list. A tick is a claim. A new task
// is accepted as pending. Anything that makes the work easier than the user asked for is damage,
// and is undone byte for byte. While no agent runs, edits are the user's and are accepted. If the
// user leaves a list broken, the Tracker does not touch it, and the last good list stays in effect.
// Only regular files below the workspace are read, without blocking and up to a size.
//
// There are two things that a Tracker cannot know. It takes what it reads in Adopt for the user's,
// so by then the agent must have ended, and its damage must be undone with Write. And checks that a
// user adds to a task are commands: the caller must get consent before it runs them.
//
// # Lists for commands
//
// [Find], [Open], [Create] and the methods of [List] are for commands: they read a list, lint it,
// and tick and add tasks.
package plan
