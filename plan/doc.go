// Package plan reads, checks and owns task lists, whatever format they are written in.
//
// # Formats
//
// A list is recognised by its content; a name only breaks ties, so --tasks may name any file.
//
//   - ralph: .ralph/tasks.json, {"version":1,"tasks":[…]}. It is ours and strict: a key that is not known is an error.
//   - agent-folder: .agent/tasks.json, a list of {id, title, category, specFilePath, passes}, with a file for each task that holds its description,
//     criteria, dependencies and steps. State is passes in the list; whether a step is ticked is the agent's own note.
//   - prd-tasks: a list of {id, title, description, acceptance_criteria, status}.
//   - prd-stories: {"userStories":[{id, title, description, acceptanceCriteria, priority, passes, notes}]}.
//   - markdown: check boxes, or sections named "Task N".
//
// A format is a pair of pure functions over bytes: one reads tasks, the other changes nothing but
// the bytes of a state. Blanks, key order, line ends, escapes and everything that means nothing to
// us stay as people wrote them.
//
// # The book
//
// A [Book] owns the list during a run. It keeps copies of the last good files outside the
// workspace, so that it can always say what an agent did to the list: ticks are claims, new tasks
// are welcome as pending ones, and anything that makes the work easier than the user asked for is
// an injury and put back, byte for byte. While no agent is at work, edits are the user's and hold;
// a list that the user left broken is left alone, and the last good one stays in force. Only
// regular files below the workspace are read, without waiting and up to a size.
//
// Two things a Book cannot know. What it reads in Adopt it takes for the user's, so an agent must
// be gone by then, and its injuries written off with Write. And checks that a user adds to a task
// are commands: whoever runs them has to ask for consent first.
//
// # Lists by hand
//
// [Find], [Open], [Create] and the methods of [List] are for commands: they read a list, lint it,
// tick and add tasks.
package plan
