package prompt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// small has parts of one word each.
func small(change func(in *ralph.PromptInput)) ralph.PromptInput {
	in := ralph.PromptInput{
		Ordinal: 3, Of: 9, Goal: "G", Diff: "D", Learnings: "L", Dir: "/r", Task: &ralph.Task{ID: "T-1", Title: "Title"},
	}
	change(&in)
	return in
}

const (
	goalText  = "# Goal\n\nG"
	diffText  = "# What changed since the run began\n\nUntracked files are included.\n\n> D"
	learnText = "# Learnings\n\nEarlier iterations learned this about the project. Use it, but trust the files where " +
		"they differ.\n\n> L"
	taskText = "# Your task\n\nDo this one task in this iteration, and no other:\n\n> T-1: Title"
)

func TestFilledPromptFile(t *testing.T) {
	signalsText, _ := signals(small(func(*ralph.PromptInput) {}))
	for _, tt := range []struct{ name, file, want string }{
		{
			"small values", "{{i}} of {{n}}, {{task_id}} {{task_title}} in {{project_root}}{{i}}\n",
			"3 of 9, T-1 Title in /r3\n\n" + goalText + "\n\n" + signalsText + "\n",
		},
		{"goal and task follow", "at {{i}}\n\n\n", "at 3\n\n" + goalText + "\n\n" + taskText + "\n\n" + signalsText + "\n"},
		{
			"parts where they are named", "a {{goal}} b\n{{task}}\n\n\n{{signals}}{{diff}}\n",
			"a " + goalText + " b\n" + taskText + "\n\n\n" + signalsText + diffText + "\n",
		},
		{"only once", "{{goal}}-{{goal}}-{{task}}{{signals}}", goalText + "--" + taskText + signalsText + "\n"},
		{
			"empty parts", "[{{progress}}{{recommendation}}] {{goal}}{{task}}{{signals}}{{answers}}{{last_time}}",
			"[] " + goalText + taskText + signalsText + "\n",
		},
		{
			"only a part", "\n\n{{learnings}}\n\n",
			learnText + "\n\n" + goalText + "\n\n" + taskText + "\n\n" + signalsText + "\n",
		},
		{
			"others stay",
			"{{goal}}{{task}}{{signals}} ${{goal}} ${{ goal }} {{ goal }} {{{goal}}} {{.goal}} {{goal }} {goal} {{GOAL}} {{x}}",
			goalText + taskText + signalsText +
				" ${{goal}} ${{ goal }} {{ goal }} {{{goal}}} {{.goal}} {{goal }} {goal} {{GOAL}} {{x}}\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Build(small(func(in *ralph.PromptInput) { in.Template = tt.file })).Text
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("prompt of %q (-want +got):\n%s", tt.file, diff)
			}
		})
	}
}

func TestValuesAreNotSearched(t *testing.T) {
	in := small(func(in *ralph.PromptInput) {
		in.Template = "{{task_title}} {{goal}}{{signals}}"
		in.Goal, in.Task.Title = "{{diff}} {{i}}", "{{learnings}} {{task_id}}"
	})
	signalsText, _ := signals(in)
	want := "{{learnings}} {{task_id}} # Goal\n\n{{diff}} {{i}}" + signalsText + "\n"
	if diff := cmp.Diff(want, Build(in).Text); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
}

func TestWithoutTaskOrCap(t *testing.T) {
	in := small(func(in *ralph.PromptInput) {
		in.Task, in.Tasks, in.Of, in.Template = nil, []ralph.TaskState{
			{ID: "T-1", Status: ralph.TaskDone},
		}, 0, "{{i}}/{{n}} [{{task_id}}{{task_title}}]{{goal}}{{signals}}"
	})
	signalsText, _ := signals(in)
	want := "3/unlimited []" + goalText + signalsText + "\n\n" + nothingOpen + "\n"
	if diff := cmp.Diff(want, Build(in).Text); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
}

// partNames are the parts as the log lists them.
func partNames(parts []ralph.PromptPart) string {
	var names []string
	for _, p := range parts {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

func TestPartsOfAPromptFile(t *testing.T) {
	everything := func(in *ralph.PromptInput) {
		*in = hostile("x")
		in.Steering, in.Diagnose = steeringOf("x", "S"), "why"
	}
	for _, tt := range []struct{ file, want string }{
		{
			"",
			"steering goal task iteration commits signals checks plan diff diagnose failed_checks refusals recommendation " +
				"progress learnings answers",
		},
		{
			" \n",
			"steering goal task iteration commits signals checks plan diff diagnose failed_checks refusals recommendation " +
				"progress learnings answers",
		},
		{
			"read me",
			"steering prompt_file goal task iteration commits signals checks plan diff diagnose failed_checks refusals " +
				"recommendation progress learnings answers",
		},
		{
			"{{x}} {{ goal }}",
			"steering prompt_file goal task iteration commits signals checks plan diff diagnose failed_checks refusals " +
				"recommendation progress learnings answers",
		},
		{"at {{i}}", "steering prompt_file goal task signals diagnose failed_checks refusals answers"},
		{
			"a {{plan}} b {{signals}}\n{{steering}}",
			"prompt_file plan prompt_file signals steering goal task diagnose failed_checks refusals answers",
		},
		{
			"{{answers}}{{last_time}}{{failed_checks}}{{diagnose}}{{task}}",
			"steering answers refusals failed_checks diagnose task goal signals",
		},
		{
			"{{iteration}}{{commits}}{{checks}}{{plan}}{{diff}}{{recommendation}}{{progress}}{{learnings}}{{task_id}}",
			"steering iteration commits checks plan diff recommendation progress learnings prompt_file goal signals diagnose " +
				"failed_checks refusals answers",
		},
	} {
		parts := Build(small(func(in *ralph.PromptInput) { everything(in); in.Template = tt.file })).Parts
		if diff := cmp.Diff(tt.want, partNames(parts)); diff != "" {
			t.Errorf("parts of %q (-want +got):\n%s", tt.file, diff)
		}
	}
}

func TestPromptFileIsSentWhole(t *testing.T) {
	in := small(func(in *ralph.PromptInput) { in.Template = "  Do as ${{ I }} say.\n\n{{range .X}}\n\n" })
	want := part{name: "prompt_file", text: "PROJECT_ROOT=/r\n\n  Do as ${{ I }} say.\n\n{{range .X}}\n\n"}
	if got := arrange(in)[0]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	in.Dir = ""
	want.text = in.Template
	if got := arrange(in)[0]; got != want {
		t.Errorf("without a root: got %+v, want %+v", got, want)
	}
}

func TestLongFilledPromptFile(t *testing.T) {
	long := strings.Repeat("x", goalCap-10)
	in := small(func(in *ralph.PromptInput) {
		in.Template = long + "{{goal}}{{project_root}}" + long + "{{task}}behind{{signals}}"
	})
	signalsText, _ := signals(in)
	want := []part{
		{name: "prompt_file", text: long},
		{name: "goal", text: goalText, inline: true},
		{name: "prompt_file", text: "/r" + long[:8] + "\n[… 59982 characters cut …]", truncated: true, inline: true},
		{name: "task", text: taskText, inline: true},
		{name: "prompt_file", text: "[… 6 characters cut …]", truncated: true, inline: true},
		{name: "signals", text: signalsText, inline: true},
	}
	if diff := cmp.Diff(want, arrange(in), cmp.AllowUnexported(part{})); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestPlaceholders(t *testing.T) {
	want := "{{answers}} {{checks}} {{commits}} {{diagnose}} {{diff}} {{failed_checks}} {{goal}} {{i}} {{iteration}} " +
		"{{last_time}} {{learnings}} {{n}} {{plan}} " +
		"{{progress}} {{project_root}} {{recommendation}} {{signals}} {{steering}} {{task}} {{task_id}} {{task_title}}"
	if diff := cmp.Diff(want, strings.Join(Placeholders(), " ")); diff != "" {
		t.Errorf("placeholders (-want +got):\n%s", diff)
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
		{
			"${{ secrets.X }} ${{goal}} ${{ goal }} {{{x}}} {{ .Name }} {{.X}} {{range .Y}}{{else}}{{end}} {{ item }} {{ " +
				"user.name }} {{}} {x}",
			nil,
		},
	} {
		if diff := cmp.Diff(tt.want, Unknown(tt.file)); diff != "" {
			t.Errorf("Unknown(%q) (-want +got):\n%s", tt.file, diff)
		}
	}
}
