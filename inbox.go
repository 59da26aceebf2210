package ralph

// Inbox is the narrow door through which other processes reach a run. Poll does not block.
type Inbox interface {
	Poll() (Orders, error)
}

// Orders is what lies in the mailbox.
type Orders struct {
	Stop  bool // finish this iteration, judge it, then end
	Pause bool // start no iteration until it is taken away
}

// MessageInbox is an optional power of an Inbox: what people wrote to the run under way, or to the next one. Messages gives them oldest first and leaves
// them where they are; Ack takes one away, after it was recorded.
type MessageInbox interface {
	Messages() ([]Message, error)
	Ack(id string) error
}

// MessageKind says what a letter is.
type MessageKind string

// The kinds of letters.
const (
	MessageSteer  MessageKind = "steer"
	MessageAnswer MessageKind = "answer"
)

// Message is something that a person tells the agent.
type Message struct {
	ID       string      `json:"id"`
	Kind     MessageKind `json:"kind"`
	Text     string      `json:"text"`
	Question string      `json:"question,omitempty"` // with an answer: what was asked
	Run      string      `json:"run,omitempty"`      // with an answer: which run asked
}

// LearningsFile holds what people accepted of what agents proposed to remember.
const LearningsFile = ".ralph/learnings.md"
