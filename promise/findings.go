package promise

import "slices"

// A hostile stream must not fill the memory with what it reports.
const (
	maxTasks    = 512
	maxRecorded = 8
)

// findings gathers what was said, in the order it was said. Text that may yet turn out to be something else (a fence, a half status block) has findings of
// its own, which are merged or forgotten once that is known; so they hold only what stays bounded.
type findings struct {
	complete     bool
	completeTag  string
	completeText string
	blocked      *string
	decide       *string
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

// mention records a tag that was talked about. One of an unknown type is no news there: nobody would print it alone on its line.
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

// merge adds what was said after f.
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
