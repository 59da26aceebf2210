package ralph

// Mailbox is the narrow door through which other processes reach a run. Poll does not block.
type Mailbox interface {
	Poll() (Orders, error)
}

// Orders is what lies in the mailbox.
type Orders struct {
	Stop  bool // finish this iteration, judge it, then end
	Pause bool // start no iteration until it is taken away
}

// Post is an optional power of a Mailbox: what people wrote to the run under way, or to the next one. Letters gives them oldest first and leaves
// them where they are; Took takes one away, after it was recorded.
type Post interface {
	Letters() ([]Letter, error)
	Took(id string) error
}

// LetterKind says what a letter is.
type LetterKind string

// The kinds of letters.
const (
	LetterSteer  LetterKind = "steer"
	LetterAnswer LetterKind = "answer"
)

// Letter is something that a person tells the agent.
type Letter struct {
	ID       string     `json:"id"`
	Kind     LetterKind `json:"kind"`
	Text     string     `json:"text"`
	Question string     `json:"question,omitempty"` // with an answer: what was asked
	Run      string     `json:"run,omitempty"`      // with an answer: which run asked
}

// LearningsFile holds what people accepted of what agents proposed to remember.
const LearningsFile = ".ralph/learnings.md"
