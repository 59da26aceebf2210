package promise

import "slices"

// Limits on what a report holds, so that a hostile stream cannot fill the memory.
const (
	maxTasks    = 512
	maxRecorded = 8
)

// findings collects what the agent said, in order. Text that may turn out to be something else (a
// fence, half a status block) has separate findings, which are merged or dropped once that is
// known. So findings must stay bounded.
type findings struct {
	complete     bool
	completeTag  string
	completeText string
	blocked      *string
	decide       *string
	untestable   *string
	tasks        []string
	mentions     []string
	unknown      []string
	phrases      int
}

func (f *findings) accept(t tag) {
	switch t.kind {
	case completeTag:
		f.complete, f.completeTag, f.completeText = true, t.name, t.text
	case blockedTag:
		f.blocked = &t.text
	case decideTag:
		f.decide = &t.text
	case untestableTag:
		f.untestable = &t.text
	case taskDoneTag:
		f.taskDone(t.name)
	case unknownTag:
		f.unknown = record(f.unknown, t.name)
	}
}

func (f *findings) taskDone(id string) {
	if len(f.tasks) < maxTasks && !slices.Contains(f.tasks, id) {
		f.tasks = append(f.tasks, id)
	}
}

// mention records a tag that was only talked about. One of an unknown type is not worth recording
// there: it was never meant as a tag.
func (f *findings) mention(t tag) {
	if t.kind != unknownTag {
		f.mentions = record(f.mentions, t.String())
	}
}

func record(list []string, s string) []string {
	if s = shown(s); len(list) == maxRecorded || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// merge adds findings from text after that of f.
func (f *findings) merge(later *findings) {
	if later.complete {
		f.complete, f.completeTag, f.completeText = true, later.completeTag, later.completeText
	}
	if later.blocked != nil {
		f.blocked = later.blocked
	}
	if later.decide != nil {
		f.decide = later.decide
	}
	if later.untestable != nil {
		f.untestable = later.untestable
	}
	for _, id := range later.tasks {
		f.taskDone(id)
	}
	for _, m := range later.mentions {
		f.mentions = record(f.mentions, m)
	}
	for _, u := range later.unknown {
		f.unknown = record(f.unknown, u)
	}
	f.phrases += later.phrases
}
