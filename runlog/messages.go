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

// MessageLimit is the maximum size of a message's text in bytes. All of it goes into a prompt.
const MessageLimit = 16 << 10

const (
	messageExt = ".json"
	// messageFileLimit limits how much of one file is read: text and question, with every byte
	// escaped.
	messageFileLimit = 16 * MessageLimit
)

// ErrInvalidMessage means that a message was refused for its content, not because of the disk.
var ErrInvalidMessage = errors.New("invalid message")

// BadMessage is a file among the messages that cannot be read as one. It is left in place.
type BadMessage struct {
	Path string
	Why  string
}

func (b *BadMessage) Error() string { return fmt.Sprintf("not a message: %s: %s", b.Why, b.Path) }

// SendMessage stores a message for the current run, or for the next one, and returns when it is on
// stable storage. It assigns the message an ID; later IDs are greater. A message that is useless to
// a run is ErrInvalidMessage.
func (s *Store) SendMessage(message ralph.Message) (id string, err error) {
	if err := validateMessage(message); err != nil {
		return "", fmt.Errorf("send message: %w", err)
	}
	folder := messagesDir(s.dir)
	err = s.prepare()
	if err == nil {
		err = makeFolder(folder)
	}
	if err != nil {
		return "", fmt.Errorf("send message: %w", err)
	}
	message.ID = ralph.NewRunID(time.Now())
	content, err := json.Marshal(message)
	if err != nil {
		return "", fmt.Errorf("send message: %w", err)
	}
	if err := replaceFile(messagePath(folder, message.ID), append(content, '\n')); err != nil {
		return "", fmt.Errorf("send message: %w", err)
	}
	return message.ID, nil
}

// validateMessage checks that a message has a known kind and a text of acceptable length.
func validateMessage(message ralph.Message) error {
	switch message.Kind {
	case ralph.MessageSteer, ralph.MessageAnswer, ralph.MessageReject, ralph.MessageLimits, ralph.MessageFiles:
	default:
		return fmt.Errorf("%w: unknown kind %q", ErrInvalidMessage, message.Kind)
	}
	switch {
	case strings.TrimSpace(message.Text) == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidMessage)
	case len(message.Text) > MessageLimit:
		return fmt.Errorf("%w: its text has %d bytes; the limit is %d", ErrInvalidMessage, len(message.Text),
			MessageLimit)
	case len(message.Question) > MessageLimit:
		return fmt.Errorf("%w: the question that it answers has %d bytes; the limit is %d", ErrInvalidMessage,
			len(message.Question), MessageLimit)
	}
	return nil
}

// Messages returns the unread messages, oldest first, and leaves them in place. It skips invalid
// files; the error then joins a *BadMessage for each, and the valid messages are still returned.
func (s *Store) Messages() ([]ralph.Message, error) {
	messages, bad, err := readMessages(messagesDir(s.dir))
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	return messages, errors.Join(bad...)
}

// Ack removes a message after it was recorded. It may already be gone.
func (s *Store) Ack(id string) error { return removeMessage(messagesDir(s.dir), id) }

// Messages returns the messages of the run's workspace, oldest first. An invalid file does not stop
// a run; Store.Messages reports it.
func (l *Log) Messages() ([]ralph.Message, error) {
	messages, _, err := readMessages(messagesDir(l.workspaceDir()))
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	return messages, nil
}

// Ack removes a message after it was recorded. It may already be gone.
func (l *Log) Ack(id string) error { return removeMessage(messagesDir(l.workspaceDir()), id) }

// workspaceDir returns the folder of the workspace's state, two levels above that of the run.
func (l *Log) workspaceDir() string { return filepath.Dir(filepath.Dir(l.Dir())) }

func messagesDir(dir string) string { return filepath.Join(dir, "letters") }

func messagePath(folder, id string) string { return filepath.Join(folder, id+messageExt) }

// readMessages reads a folder in the order of its names, which is chronological. It ignores other
// names, such as that of a message being written.
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
		if !named || !isPlainName(id) {
			continue
		}
		path := messagePath(folder, id)
		message, err := readMessage(path, entry)
		switch {
		case errors.Is(err, fs.ErrNotExist): // acknowledged just now
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

// removeMessage also flushes the folder: a message that came back after a power cut would be
// delivered twice.
func removeMessage(folder, id string) error {
	if !isPlainName(id) {
		return fmt.Errorf("acknowledge message: %q is not a valid message ID", id)
	}
	path := messagePath(folder, id)
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err = ioError("remove", path, err); err == nil {
		err = flushFolder(folder)
	}
	if err != nil {
		return fmt.Errorf("acknowledge message: %w", err)
	}
	return nil
}
