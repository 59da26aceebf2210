package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/textfile"
	"github.com/ralphloop/ralph/judge"
)

// inbox reads what people write to the run.
type inbox struct {
	*journal
	tree     *workspace
	wait     *waiter
	steering []ralph.SteeringSeen // in force, in file order
	words    int                  // what people wrote that this process delivered
	asked    string               // question of an earlier run that was never answered
	// knownWhenAsked are the steering items of that run. Others may be the answer.
	knownWhenAsked []ralph.SteeringSeen
}

// steeringFiles are the files in which people write instructions for the agent, relative to the
// workspace.
var steeringFiles = []string{".ralph/STEERING.md", ".agent/STEERING.md"}

// readUserInput reads what people wrote since the last iteration began. It does not count as
// progress of the agent.
func (b *inbox) readUserInput(ctx context.Context) {
	before := b.state.Steering
	b.readInbox(false)
	b.readSteering(ralph.SteeringDelivered)
	if !slices.Equal(before, b.state.Steering) {
		b.tree.snapshot(ctx, ralph.TreeInput{BaseHead: b.state.History.Base.Head})
	}
}

// readInbox reads messages to the run. Steering goes into the project's STEERING.md, where the
// agent can remove it; answers and limits go into the state. A message is acknowledged only after it was
// recorded.
func (b *inbox) readInbox(onlyLimits bool) {
	inbox, ok := b.inbox.(ralph.MessageInbox)
	if !ok {
		return
	}
	messages, err := inbox.Messages()
	if err != nil && !onlyLimits {
		b.warnOnce("letters_unreadable", err.Error())
	}
	for _, message := range messages {
		if message.Kind == ralph.MessageLimits && message.Run != b.state.Run { // that run has ended
			_ = inbox.Ack(message.ID) // otherwise it is passed over again
			continue
		}
		if message.Kind == ralph.MessageFiles || b.isForeign(message) { // see takeOverFiles for files
			continue
		}
		if message.Kind != ralph.MessageLimits && onlyLimits {
			continue
		}
		if !slices.Contains(b.state.Messages, message.ID) {
			if err := b.deliverMessage(message); err != nil {
				b.warnOnce("letter_undelivered", fmt.Sprintf("cannot deliver the message %q: %v", message.Text, err))
				continue
			}
			b.sync()
		}
		if err := inbox.Ack(message.ID); err != nil {
			b.warnOnce("letters_unreadable", err.Error())
		}
	}
}

// isForeign reports whether a message is the rejection of another run's work.
func (b *inbox) isForeign(message ralph.Message) bool {
	return message.Kind == ralph.MessageReject && message.Run != b.state.Run
}

func (b *inbox) deliverMessage(message ralph.Message) error {
	if message.Kind == ralph.MessageLimits {
		var raised ralph.LimitsRaised
		if err := json.Unmarshal([]byte(message.Text), &raised); err != nil {
			return err
		}
		raised.Message = message.ID
		b.emit(ralph.EvLimits, raised)
		b.policy = raised.Raise(b.policy)
		return nil
	}
	if message.Kind == ralph.MessageAnswer || message.Kind == ralph.MessageReject {
		b.asked = ""
		b.words++
		b.emit(ralph.EvAnswer, ralph.AnswerGiven{
			Question: message.Question, Task: message.Task, Answer: message.Text, Message: message.ID,
		})
		return nil
	}
	file, item, err := appendSteering(b.cfg.Dir, message.Text)
	if err != nil {
		return err
	}
	b.words++
	b.emit(ralph.EvSteering, ralph.SteeringSeen{
		State:   ralph.SteeringDelivered,
		File:    file,
		Text:    item,
		Message: message.ID,
	})
	return nil
}

// takeOverFiles makes changes of files the user's own, if the user says so with ralph accept --files.
func (b *inbox) takeOverFiles(ctx context.Context, list *taskList) {
	inbox, ok := b.inbox.(ralph.MessageInbox)
	if !ok || ctx.Err() != nil {
		return
	}
	messages, _ := inbox.Messages() // readInbox reports the error
	for _, message := range messages {
		if message.Kind != ralph.MessageFiles {
			continue
		}
		files := strings.Split(message.Text, "\n")
		if !slices.Contains(b.state.Messages, message.ID) {
			if err := b.tree.takeOver(ctx, files); err != nil {
				b.warnOnce("files_not_accepted", fmt.Sprintf("cannot accept the changes of %s: %v", text.List(files), err))
				continue
			}
			list.takeOver(files)
			b.emit(ralph.EvAccepted, ralph.WorkAccepted{By: message.By, Files: files, Message: message.ID})
			b.sync()
		}
		if err := inbox.Ack(message.ID); err != nil {
			b.warnOnce("letters_unreadable", err.Error())
		}
	}
}

// appendSteering adds an item to the project's steering file, or to a new one, unless the file has
// it already.
func appendSteering(dir, text string) (file, item string, err error) {
	file, item, line, err := placeSteering(dir, text)
	if err != nil || line == "" {
		return file, item, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", "", err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return "", "", err
	}
	out, err := root.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND|textfile.NonBlocking, 0o644)
	if err != nil {
		return "", "", err
	}
	_, err = out.WriteString(line)
	return file, item, errors.Join(err, out.Close())
}

// placeSteering returns the file that a text goes to, the item it becomes, and the line to write.
// The line is empty if the file already has the item.
func placeSteering(dir, text string) (file, item, line string, err error) {
	file = steeringFiles[0]
	before := ""
	for _, name := range steeringFiles {
		if text, err := textfile.ReadInside(dir, name); err == nil || errors.Is(err, textfile.ErrEmpty) {
			file, before = name, text
			break
		}
	}
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	line = "- " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
	items := steeringItems(line)
	if len(items) == 0 {
		return "", "", "", errors.New("it contains no instructions")
	}
	item = items[0]
	if slices.Contains(steeringItems(before), item) {
		return file, item, "", nil
	}
	if before != "" && !strings.HasSuffix(before, "\n") {
		line = "\n" + line
	}
	if !slices.Contains(steeringItems(before+line), item) {
		return "", "", "", fmt.Errorf("%s has an unclosed comment that would hide it; close the comment and send it again",
			file)
	}
	return file, item, line, nil
}

// readSteering reads the steering files again and records which items are new and which were removed. In state earlier,
// new items answer no question.
func (b *inbox) readSteering(state string) {
	same := func(item ralph.SteeringSeen) func(ralph.SteeringSeen) bool {
		return func(other ralph.SteeringSeen) bool { return other.File == item.File && other.Text == item.Text }
	}
	var now []ralph.SteeringSeen
	for _, file := range steeringFiles {
		text, err := textfile.ReadInside(b.cfg.Dir, file)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, textfile.ErrEmpty) {
				b.warnOnce("steering_unreadable", err.Error())
			}
			continue
		}
		for _, text := range steeringItems(text) {
			item := ralph.SteeringSeen{State: state, File: file, Text: text}
			if !slices.ContainsFunc(now, same(item)) {
				now = append(now, item)
			}
		}
	}
	for _, item := range b.state.Steering {
		if !slices.ContainsFunc(now, same(item)) {
			b.emit(ralph.EvSteering, ralph.SteeringSeen{State: ralph.SteeringRemoved, File: item.File, Text: item.Text})
		}
	}
	b.steering = nil
	for _, item := range now {
		if !slices.ContainsFunc(b.state.Steering, same(item)) {
			b.emit(ralph.EvSteering, item)
			b.words++
			if state == ralph.SteeringDelivered && !slices.ContainsFunc(b.knownWhenAsked, same(item)) {
				b.asked = "" // the user read the question and wrote this
			}
		}
		// keep the ID of the message that brought it
		if i := slices.IndexFunc(b.state.Steering, same(item)); i >= 0 {
			item = b.state.Steering[i]
		}
		b.steering = append(b.steering, item)
	}
}

// await waits for what a verdict waits for.
func (b *inbox) await(ctx context.Context, v ralph.Verdict, list *taskList) {
	switch {
	case v.WaitFor != ralph.WaitAnswer:
		b.wait.wait(ctx, ralph.Waiting{For: v.WaitFor, Wait: v.Wait, Detail: v.Detail})
	case len(judge.AwaitedTasks(b.state.History.Tasks)) > 0:
		b.awaitTask(ctx, v.Detail, list)
	default:
		b.awaitAnswer(ctx, v.Detail)
	}
}

// awaitAnswer keeps the run alive until a person answers the agent's question or stops the run, or
// its time is up.
func (b *inbox) awaitAnswer(ctx context.Context, question string) {
	inbox, ok := b.inbox.(ralph.MessageInbox)
	if !ok {
		return
	}
	b.asked = question
	// An answer that could not be acknowledged was already given.
	answers := func(message ralph.Message) bool {
		return message.Kind == ralph.MessageAnswer && !slices.Contains(b.state.Messages, message.ID)
	}
	b.wait.waitUntil(ctx, ralph.Waiting{For: ralph.WaitAnswer, Detail: question}, func() time.Duration {
		if messages, err := inbox.Messages(); err == nil && slices.ContainsFunc(messages, answers) {
			return 0
		}
		return pollEvery
	})
}

// awaitTask keeps the run alive until one of its tasks can be worked on: a person answered its question, wrote
// something into a steering file, or changed the list.
func (b *inbox) awaitTask(ctx context.Context, questions string, list *taskList) {
	waiting := ralph.Waiting{For: ralph.WaitAnswer, Detail: questions}
	b.wait.waitUntil(ctx, waiting, func() time.Duration {
		b.readUserInput(ctx)
		list.adoptChanges()
		if len(judge.AwaitedTasks(b.state.History.Tasks)) == 0 {
			return 0
		}
		if b.state.Waiting == nil { // something else was recorded meanwhile
			waiting.Elapsed = b.elapsed()
			b.emit(ralph.EvLimitWait, waiting)
		}
		return pollEvery
	})
}

// previewMessage applies a message as if it had been delivered.
func (b *inbox) previewMessage(message ralph.Message) {
	switch message.Kind {
	case ralph.MessageFiles, ralph.MessageReject: // a new run has no rejected work
		return
	case ralph.MessageAnswer:
		b.asked = ""
		b.emit(ralph.EvAnswer, ralph.AnswerGiven{Question: message.Question, Answer: message.Text})
		return
	}
	file, item, line, err := placeSteering(b.cfg.Dir, message.Text)
	known := slices.ContainsFunc(b.steering, func(other ralph.SteeringSeen) bool {
		return other.File == file && other.Text == item
	})
	if err != nil || line == "" || known {
		return
	}
	end := 0 // index after the last item of the same file
	for i, other := range b.steering {
		if other.File == file {
			end = i + 1
		}
	}
	b.steering = slices.Insert(b.steering, end, ralph.SteeringSeen{State: ralph.SteeringDelivered, File: file, Text: item})
}
