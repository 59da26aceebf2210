package ralph

// Inbox is how other processes send orders to a run. Poll does not block.
type Inbox interface {
	Poll() (Orders, error)
}

// Orders lists the orders that are in the inbox.
type Orders struct {
	Stop  bool // finish and judge this iteration, then end
	Pause bool // start no iteration until the order is removed
}

// MessageInbox is an optional interface of an Inbox that holds what people wrote to the current run or
// the next one. Messages returns the messages, oldest first, and leaves them in the inbox. Ack removes
// one after the run has recorded it.
type MessageInbox interface {
	Messages() ([]Message, error)
	Ack(id string) error
}

// MessageKind is the kind of a message.
type MessageKind string

// The kinds of messages.
const (
	MessageSteer  MessageKind = "steer"
	MessageAnswer MessageKind = "answer"
	MessageReject MessageKind = "reject" // why a person does not accept the work of a run; only for that run
	MessageLimits MessageKind = "limits" // LimitsRaised as JSON; only for that run
	MessageFiles  MessageKind = "files"  // changes of files that are the user's own, a name per line
)

// Message is a message from a person to the agent.
type Message struct {
	ID       string      `json:"id"`
	Kind     MessageKind `json:"kind"`
	Text     string      `json:"text"`
	Question string      `json:"question,omitempty"` // with an answer or a rejection: the question
	Task     string      `json:"task,omitempty"`     // with an answer: the task that waits for it
	Run      string      `json:"run,omitempty"`      // with an answer, a rejection or limits: the run that it is for
	By       string      `json:"by,omitempty"`       // with files: the person
}

// LearningsFile holds the learnings that agents proposed and people accepted.
const LearningsFile = ".ralph/learnings.md"
