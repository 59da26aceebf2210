package prompt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// small has parts of one word each.
func small(change func(in *Input)) Input {
	in := Input{Ordinal: 3, Of: 9, Goal: "G", Diff: "D", Learnings: "L", ProjectRoot: "/r", Task: &Task{ID: "T-1", Title: "Title"}}
	change(&in)
	return in
}

const (
	goalText  = "# Goal\n\nG"
	diffText  = "# What changed since the run began\n\nUntracked files are included.\n\n> D"
	learnText = "# Learnings\n\nEarlier iterations found this out about the project. Make use of it, and trust the files where they differ.\n\n> L"
	taskText  = "# Your task\n\nDo this one task in this iteration, and no other:\n\n> T-1: Title"
)

func TestFilledPromptFile(t *testing.T) {
	signalsText := signals(small(func(*Input) {})).Text
	for _, tt := range []struct{ name, file, want string }{
		{"small values", "{{i}} of {{n}}, {{task_id}} {{task_title}} in {{project_root}}{{i}}\n", "3 of 9, T-1 Title in /r3\n\n" + goalText + "\n\n" + signalsText + "\n"},
		{"goal and task follow", "at {{i}}\n\n\n", "at 3\n\n" + goalText + "\n\n" + taskText + "\n\n" + signalsText + "\n"},
		{"parts where they are named", "a {{goal}} b\n{{task}}\n\n\n{{signals}}{{diff}}\n", "a " + goalText + " b\n" + taskText + "\n\n\n" + signalsText + diffText + "\n"},
		{"only once", "{{goal}}-{{goal}}-{{task}}{{signals}}", goalText + "--" + taskText + signalsText + "\n"},
		{"empty parts", "[{{progress}}{{recommendation}}] {{goal}}{{task}}{{signals}}{{answers}}{{last_time}}", "[] " + goalText + taskText + signalsText + "\n"},
		{"only a part", "\n\n{{learnings}}\n\n", learnText + "\n\n" + goalText + "\n\n" + taskText + "\n\n" + signalsText + "\n"},
		{"others stay", "{{goal}}{{task}}{{signals}} ${{goal}} ${{ goal }} {{ goal }} {{{goal}}} {{.goal}} {{goal }} {goal} {{GOAL}} {{x}}", goalText + taskText + signalsText + " ${{goal}} ${{ goal }} {{ goal }} {{{goal}}} {{.goal}} {{goal }} {goal} {{GOAL}} {{x}}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Join(Build(small(func(in *Input) { in.Template = tt.file })))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("prompt of %q (-want +got):\n%s", tt.file, diff)
			}
		})
	}
}

func TestValuesAreNotSearched(t *testing.T) {
	in := small(func(in *Input) {
		in.Template = "{{task_title}} {{goal}}{{signals}}"
		in.Goal, in.Task.Title = "{{diff}} {{i}}", "{{learnings}} {{task_id}}"
	})
	want := "{{learnings}} {{task_id}} # Goal\n\n{{diff}} {{i}}" + signals(in).Text + "\n"
	if diff := cmp.Diff(want, Join(Build(in))); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
}

func TestWithoutTaskOrCap(t *testing.T) {
	in := small(func(in *Input) {
		in.Task, in.TasksAllDone, in.Of, in.Template = nil, true, 0, "{{i}}/{{n}} [{{task_id}}{{task_title}}]{{goal}}{{signals}}"
	})
	want := "3/unlimited []" + goalText + signals(in).Text + "\n\n" + allDone + "\n"
	if diff := cmp.Diff(want, Join(Build(in))); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
}

// partNames are the parts as the log lists them.
func partNames(parts []Part) string {
	var names []string
	for _, p := range parts {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

func TestPartsOfAPromptFile(t *testing.T) {
	everything := func(in *Input) {
		*in = hostile("x")
		in.Steering, in.Diagnose = []string{"S"}, "why"
	}
	for _, tt := range []struct{ file, want string }{
		{"", "steering goal task iteration commits signals checks plan diff diagnose failed_checks refusals recommendation progress learnings answers"},
		{" \n", "steering goal task iteration commits signals checks plan diff diagnose failed_checks refusals recommendation progress learnings answers"},
		{"read me", "steering prompt_file goal task iteration commits signals checks plan diff diagnose failed_checks refusals recommendation progress learnings answers"},
		{"{{x}} {{ goal }}", "steering prompt_file goal task iteration commits signals checks plan diff diagnose failed_checks refusals recommendation progress learnings answers"},
		{"at {{i}}", "steering prompt_file goal task signals diagnose failed_checks refusals answers"},
		{"a {{plan}} b {{signals}}\n{{steering}}", "prompt_file plan prompt_file signals steering goal task diagnose failed_checks refusals answers"},
		{"{{answers}}{{last_time}}{{failed_checks}}{{diagnose}}{{task}}", "steering answers refusals failed_checks diagnose task goal signals"},
		{
			"{{iteration}}{{commits}}{{checks}}{{plan}}{{diff}}{{recommendation}}{{progress}}{{learnings}}{{task_id}}",
			"steering iteration commits checks plan diff recommendation progress learnings prompt_file goal signals diagnose failed_checks refusals answers",
		},
	} {
		parts := Build(small(func(in *Input) { everything(in); in.Template = tt.file }))
		if diff := cmp.Diff(tt.want, partNames(parts)); diff != "" {
			t.Errorf("parts of %q (-want +got):\n%s", tt.file, diff)
		}
	}
}

func TestPromptFileIsSentWhole(t *testing.T) {
	in := small(func(in *Input) { in.Template = "  Do as ${{ I }} say.\n\n{{range .X}}\n\n" })
	want := Part{Name: "prompt_file", Text: "PROJECT_ROOT=/r\n\n  Do as ${{ I }} say.\n\n{{range .X}}\n\n"}
	if got := Build(in)[0]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	in.ProjectRoot = ""
	want.Text = in.Template
	if got := Build(in)[0]; got != want {
		t.Errorf("without a root: got %+v, want %+v", got, want)
	}
}

func TestLongFilledPromptFile(t *testing.T) {
	long := strings.Repeat("x", goalCap-10)
	in := small(func(in *Input) { in.Template = long + "{{goal}}{{project_root}}" + long + "{{task}}behind{{signals}}" })
	parts := Build(in)
	want := []Part{
		{Name: "prompt_file", Text: long},
		{Name: "goal", Text: goalText, inline: true},
		{Name: "prompt_file", Text: "/r" + long[:8] + "\n[… 59982 characters cut …]", Truncated: true, inline: true},
		{Name: "task", Text: taskText, inline: true},
		{Name: "prompt_file", Text: "[… 6 characters cut …]", Truncated: true, inline: true},
		{Name: "signals", Text: signals(in).Text, inline: true},
	}
	if diff := cmp.Diff(want, parts, cmp.AllowUnexported(Part{})); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestUnknown(t *testing.T) {
	for _, tt := range []struct {
		file string
		want []string
	}{
		{"", nil},
		{"{{goal}} {{task_id}} {{i}} {{last_time}} {{diagnose}}", nil},
		{"{{gaol}} {{goal}} {{x-1}} {{gaol}} {{Goal}}", []string{"{{gaol}}", "{{x-1}}", "{{Goal}}"}},
		{"{{refusals}} {{prompt_file}}", []string{"{{refusals}}", "{{prompt_file}}"}},
		{"{{ goal }} {{x}} {{plan }} {{\tdiff}}", []string{"{{ goal }}", "{{x}}", "{{plan }}", "{{\tdiff}}"}},
		{"${{ secrets.X }} ${{goal}} ${{ goal }} {{{x}}} {{ .Name }} {{.X}} {{range .Y}}{{else}}{{end}} {{ item }} {{ user.name }} {{}} {x}", nil},
	} {
		if diff := cmp.Diff(tt.want, Unknown(tt.file)); diff != "" {
			t.Errorf("Unknown(%q) (-want +got):\n%s", tt.file, diff)
		}
	}
}
