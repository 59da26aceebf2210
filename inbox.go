package ralph

import ()

// LearningsFile holds what people accepted of what agents proposed to remember.
const LearningsFile = ".ralph/learnings.md"
