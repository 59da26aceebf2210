package prompt

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
)

// FuzzWordsOfOthers puts one text everywhere where text from outside can appear.
func FuzzWordsOfOthers(f *testing.F) {
	for _, text := range smuggled() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		prompt := Build(hostile(text)).Text
		repeatsNothing(t, prompt, defaultTags)
		mustHaveOnlyOurHeadings(t, text, prompt)
		if n := utf8.RuneCountInString(prompt); n > longest || !utf8.ValidString(prompt) {
			t.Errorf("%d characters, valid: %v", n, utf8.ValidString(prompt))
		}
	})
}

// FuzzTemplate fills in prompt files of any kind.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		"", "read me", "{{goal}}", "a {{plan}} b {{i}}{{i}}\n{{x}}", "${{ goal }}{{{goal}}}{{goal}}",
		"{{task_title}}{{steering}}", "{{\xff}}{{diff}}\n\n{{diff}}",
	} {
		f.Add(seed, "value {{goal}} {{i}}")
	}
	f.Fuzz(func(t *testing.T, file, value string) {
		in := small(func(in *ralph.PromptInput) { in.Template, in.Goal, in.Task.Title = file, value, value })
		built := Build(in)
		text := built.Text
		if !strings.Contains(text, "# How to report") || strings.Count(text, "# How to report\n\nA report is") < 1 {
			t.Errorf("%q gives an agent that cannot report", file)
		}
		if n := utf8.RuneCountInString(text); n > longest || !utf8.ValidString(text) {
			t.Errorf("%d characters, valid: %v", n, utf8.ValidString(text))
		}
		bytes := 0
		seen := map[string]bool{}
		for _, p := range arrange(in) {
			bytes += len(p.text)
			if seen[p.name] && p.name != "prompt_file" || strings.TrimSpace(p.text) == "" {
				t.Errorf("%q: part %s comes again or is empty", file, p.name)
			}
			seen[p.name] = true
		}
		if slack := len(text) - bytes; slack > 2*len(built.Parts)+1+len(file) {
			t.Errorf("%q: the parts have %d bytes, the prompt %d", file, bytes, len(text))
		}
		for _, u := range Unknown(file) {
			if !strings.Contains(file, u) {
				t.Errorf("Unknown(%q) gives %q", file, u)
			}
		}
	})
}
