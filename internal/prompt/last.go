package prompt

import (
	"fmt"
	"strings"
)

// failedShown is how many failed checks are told with their output; more are counted.
const failedShown = 10

func diagnose(in Input) Part {
	if in.Diagnose == "" {
		return Part{}
	}
	return Part{Name: "diagnose", Text: fmt.Sprintf(`# Diagnosis only

The last iterations did not get anywhere: %s. Do not edit files in this iteration. Find out what keeps failing and why: reproduce it, read the
code and the output, and name the root cause and what would have to change. If a person is needed, report BLOCKED or DECIDE.`, inline(in.Diagnose))}
}

func failures(in Input) Part {
	if len(in.Failed) == 0 {
		return Part{}
	}
	p := Part{Name: "failed_checks"}
	var b strings.Builder
	b.WriteString("# Checks that failed last time")
	for i, f := range in.Failed {
		if i == failedShown {
			fmt.Fprintf(&b, "\n\nSo did %d more checks.", len(in.Failed)-i)
			p.Truncated = true
			break
		}
		fmt.Fprintf(&b, "\n\n## %s (%s)", code(f.Name), inline(f.How))
		output, truncated := Cut(strings.TrimRight(clean(f.Output), "\n "), checkCap)
		p.Truncated = p.Truncated || truncated
		if output != "" {
			b.WriteString("\n\n" + quote(output))
		}
	}
	p.Text = b.String()
	return p
}

// account gathers the paragraphs of a part, each of which may be cut.
type account struct {
	paragraphs []string
	truncated  bool
}

func (a *account) say(format string, args ...any) {
	a.paragraphs = append(a.paragraphs, fmt.Sprintf(format, args...))
}

// list adds a sentence and below it, quoted, what it is about.
func (a *account) list(sentence string, items []string) {
	text, truncated := Cut(bullets(items), adviceCap)
	if text == "" {
		return
	}
	a.say("%s\n\n%s", sentence, quote(text))
	a.truncated = a.truncated || truncated
}

func refusals(in Input) Part {
	var a account
	if in.LastError != "" {
		a.say("The last iteration did not end well: %s.", inline(in.LastError))
	}
	a.list("Proven done in the last iteration:", in.Proven)
	var refused []string
	for _, r := range in.Refusals {
		refused = append(refused, r.Code+": "+r.Detail)
	}
	if in.TasksAllDone {
		a.list("The run cannot be completed:", refused)
	} else {
		a.list("The last claim of completion was refused:", refused)
	}
	var tasks []string
	for _, r := range in.TaskRefusals {
		tasks = append(tasks, fmt.Sprintf("%s: %s: %s", inline(r.Task), r.Code, r.Detail))
	}
	a.list("The claim for a task was refused:", tasks)
	a.list("The task list was put back as it was, because it may only be ticked off or added to:", in.ListProblems)
	a.list("Protected files were changed. Checks see them as they were when the run began, and no claim stands until you put them back and remove what was added:", in.Tampered)
	a.list("Checks do not see these files, which were added where files are protected:", in.Unseen)
	if in.HiddenFailed {
		a.say("A check that you cannot see failed as well. It asks for nothing but what %s says, so look there for what is missing.", whatSays(in))
	}
	a.list("An evaluator, which sees the work but not you, rejected it:", rejections(in.Rejections))
	if in.GreenNoClaim {
		a.say("The checks are green, but no claim was made. If %s is done, report it; if not, go on.", whatIsWorkedOn(in))
	}
	if in.StatusProblem != "" {
		a.say("The status block was not accepted: %s.", inline(in.StatusProblem))
	}
	for i, m := range in.Mismatches {
		if i == failedShown {
			a.truncated = true
			break
		}
		a.say("What was reported differs from what was seen: %s.", inline(m))
	}
	if len(in.Mentions) > 0 {
		a.say("A tag stood in a sentence that talks about it, so it was not taken as a report: print the tag alone on its line.")
	}
	if len(a.paragraphs) == 0 {
		return Part{}
	}
	return Part{Name: "refusals", Text: "# What happened last time\n\n" + strings.Join(a.paragraphs, "\n\n"), Truncated: a.truncated}
}

// rejections tells each one with where it was seen and what to do next.
func rejections(all []Rejection) []string {
	var told []string
	for _, r := range all {
		text := r.Category
		if r.Task != "" {
			text = inline(r.Task) + ": " + text
		}
		if r.Times > 1 {
			text += fmt.Sprintf(" (%d times by now)", r.Times)
		}
		text += ": " + r.Concern
		if r.Standing {
			text += "\nnobody was asked again: the files are as they were when this was said, and a case is judged by them and not by its words"
		}
		if len(r.Evidence) > 0 {
			text += "\nseen at: " + strings.Join(r.Evidence, ", ")
		}
		if r.NextStep != "" {
			text += "\nnext step: " + r.NextStep
		}
		told = append(told, text)
	}
	return told
}

func whatSays(in Input) string {
	if in.Task != nil {
		return "your task"
	}
	return "the goal"
}

func whatIsWorkedOn(in Input) string {
	if in.Task != nil {
		return "everything that your task asks for"
	}
	return "everything in the goal"
}

func recommendation(in Input) Part {
	text, truncated := Cut(strings.TrimSpace(clean(in.Recommendation)), adviceCap)
	if text == "" {
		return Part{}
	}
	return Part{Name: "recommendation", Text: "# Recommended by the last iteration\n\n" + quote(text), Truncated: truncated}
}
