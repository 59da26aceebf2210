package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
)

var _ ralph.MessageInbox = (*Log)(nil)

// MessageLimit is the maximum length of a message's text in bytes. All of it goes into a prompt.
const MessageLimit = 16 << 10

const (
	messageExt = ".json"
	// messageFileLimit bounds the size of one file: text and question, with every byte escaped.
	messageFileLimit = 16 * MessageLimit
)

// ErrInvalidMessage means that a message was refused because of its content, not because of the disk.
var ErrInvalidMessage = errors.New("unfit letter")

// BadMessage is a file among the messages that cannot be read as a message. It stays where it is.
type BadMessage struct {
	Path string
	Why  string
}

func (b *BadMessage) Error() string { return fmt.Sprintf("not a letter: %s: %s", b.Why, b.Path) }

// SendMessage leaves a message for the current run or the next one, and returns when it is on stable
// storage. The message gets a new ID; later IDs are greater. If the message is not valid, the error is
// ErrInvalidMessage.
func (s *Store) SendMessage(message ralph.Message) (id string, err error) {
	if err := validateMessage(message); err != nil {
		return "", fmt.Errorf("post letter: %w", err)
	}
	folder := messagesDir(s.dir)
	err = s.prepare()
	if err == nil {
		err = makeFolder(folder)
	}
	if err != nil {
		return "", fmt.Errorf("post letter: %w", err)
	}
	message.ID = ralph.NewRunID(time.Now())
	content, err := json.Marshal(message)
	if err != nil {
		return "", fmt.Errorf("post letter: %w", err)
	}
	if err := replaceFile(messagePath(folder, message.ID), append(content, '\n')); err != nil {
		return "", fmt.Errorf("post letter: %w", err)
	}
	return message.ID, nil
}

// validateMessage checks that a message has a known kind, a text, and no more than the maximum length.
func validateMessage(message ralph.Message) error {
	switch message.Kind {
	case ralph.MessageSteer, ralph.MessageAnswer:
	default:
		return fmt.Errorf("%w: its kind is %q", ErrInvalidMessage, message.Kind)
	}
	switch {
	case strings.TrimSpace(message.Text) == "":
		return fmt.Errorf("%w: it says nothing", ErrInvalidMessage)
	case len(message.Text) > MessageLimit:
		return fmt.Errorf("%w: its text has %d bytes, and %d are the most", ErrInvalidMessage, len(message.Text), MessageLimit)
	case len(message.Question) > MessageLimit:
		return fmt.Errorf("%w: the question that it answers has %d bytes, and %d are the most",
			ErrInvalidMessage, len(message.Question), MessageLimit)
	}
	return nil
}

// Messages returns the messages that no run has taken yet, oldest first, and leaves them in the inbox. It
// skips files that are not messages. The error then joins a *BadMessage for each of them, and the good
// messages are returned as well.
func (s *Store) Messages() ([]ralph.Message, error) {
	messages, bad, err := readMessages(messagesDir(s.dir))
	if err != nil {
		return nil, fmt.Errorf("read letters: %w", err)
	}
	return messages, errors.Join(bad...)
}

// Ack removes a message after it was recorded. It is no error if the message is gone already.
func (s *Store) Ack(id string) error { return removeMessage(messagesDir(s.dir), id) }

// Messages returns the messages for the run's workspace, oldest first. It skips files that are not
// messages, because they must not stop a run. Store.Messages reports them.
func (l *Log) Messages() ([]ralph.Message, error) {
	messages, _, err := readMessages(messagesDir(l.workspaceDir()))
	if err != nil {
		return nil, fmt.Errorf("read letters: %w", err)
	}
	return messages, nil
}

// Ack removes a message after it was recorded. It is no error if the message is gone already.
func (l *Log) Ack(id string) error { return removeMessage(messagesDir(l.workspaceDir()), id) }

// workspaceDir returns the folder of the workspace's state, two levels above that of the run.
func (l *Log) workspaceDir() string { return filepath.Dir(filepath.Dir(l.Dir())) }

func messagesDir(dir string) string { return filepath.Join(dir, "letters") }

func messagePath(folder, id string) string { return filepath.Join(folder, id+messageExt) }

// readMessages reads a folder in the order of its names, which is the order of time. It ignores names that
// this package never gives to a message, such as that of a message that is still being written.
func readMessages(folder string) (messages []ralph.Message, bad []error, err error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		id, named := strings.CutSuffix(entry.Name(), messageExt)
		if !named || !isPlain(id) {
			continue
		}
		path := messagePath(folder, id)
		message, err := readMessage(path, entry)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed since the folder was read
		case err != nil:
			bad = append(bad, &BadMessage{Path: path, Why: err.Error()})
		default:
			message.ID = id
			messages = append(messages, message)
		}
	}
	return messages, bad, nil
}

func readMessage(path string, entry fs.DirEntry) (ralph.Message, error) {
	if !entry.Type().IsRegular() {
		return ralph.Message{}, errors.New("not a file")
	}
	file, err := os.Open(path)
	if err != nil {
		return ralph.Message{}, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, messageFileLimit+1))
	if err != nil {
		return ralph.Message{}, err
	}
	if len(content) > messageFileLimit {
		return ralph.Message{}, fmt.Errorf("more than %d bytes", messageFileLimit)
	}
	var message ralph.Message
	if err := json.Unmarshal(content, &message); err != nil {
		return ralph.Message{}, err
	}
	return message, validateMessage(message)
}

// removeMessage removes a message and flushes the folder. A message that reappeared after a power cut
// would be delivered twice.
func removeMessage(folder, id string) error {
	if !isPlain(id) {
		return fmt.Errorf("take letter: %q cannot be the id of one", id)
	}
	path := messagePath(folder, id)
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err = unwritable("remove", path, err); err == nil {
		err = flushFolder(folder)
	}
	if err != nil {
		return fmt.Errorf("take letter: %w", err)
	}
	return nil
}
