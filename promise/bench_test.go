package promise

import (
	"fmt"
	"strings"
	"testing"
)

const benchBytes = 1 << 20

// streams returns texts of about size bytes: typical agent output, and input that only an attacker
// would write.
func streams(size int) map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, 1+size/len(unit)) }
	prose := "The parser now reads the header first, and every test of the suite is green again; next comes the writer.\n"
	var tasks strings.Builder
	for i := 0; tasks.Len() < size; i++ {
		fmt.Fprintf(&tasks, "<promise>TASK-%d:DONE</promise> ", i)
	}
	return map[string]string{
		"plain":          fill(prose),
		"plain_unicode":  fill("Größe und Länge stimmen jetzt überein, auch für „schöne“ Namen – fertig.\n"),
		"crlf":           fill(strings.TrimSuffix(prose, "\n") + "\r\n"),
		"colors":         fill("\x1b[32mok\x1b[0m      \x1b[1mgithub.com/some/package\x1b[0m 0.3s\n"),
		"long_lines":     fill(strings.Repeat(strings.TrimSuffix(prose, "\n")+" ", 1000) + "\n"),
		"one_line":       fill(strings.TrimSuffix(prose, "\n") + " "),
		"code":           fill("```go\nif a < b && c <- d {\n\treturn `x`\n}\n```\n"),
		"tags":           fill("Task is finished now.\n<promise>TASK-1:DONE</promise>\n"),
		"tags_on_a_line": tasks.String(),
		"spans":          fill("run `make` and `x` <promise>COMPLETE</promise> "),
		"blocks":         fill(validBlock),
		"learnings":      fill("- **LEARNING:** run the tests with -race, they are fast enough.\n"),
		"list_items":     fill("- **Parser:** reads the header first.\n- LEARN more about the writer.\n"),

		"openers":              fill("<promise>"),
		"openers_with_text":    fill("<promise>BLOCKED:a "),
		"openers_indented":     strings.Repeat(" ", maxLine-100) + fill("<promise>"),
		"openers_fence_like":   "```" + strings.Repeat("x", maxLine-100) + fill("<promise>"),
		"one_opener":           "<promise>BLOCKED:" + fill("x y\n"),
		"opener_in_fence":      "```\n<promise>" + fill("x\n"),
		"closers":              fill("</promise>"),
		"angles":               fill("<"),
		"empty_tags":           fill("<promise></promise>"),
		"backticks":            fill("`"),
		"backticks_apart":      fill("` "),
		"backticks_growing":    growing(size, "`", " "),
		"backticks_and_tags":   growing(size, "`", "<promise>DONE</promise>"),
		"fences":               fill("```\n"),
		"fence_lengths":        growing(size, "`", "\n"),
		"quote_marks":          fill("> "),
		"list_markers":         fill("- "),
		"numbers":              fill("1"),
		"blanks":               fill(" "),
		"line_breaks":          fill("\n"),
		"clause_ends_and_tags": fill(".<promise>DONE</promise>"),
		"words_and_tags":       fill("if<promise>DONE</promise>"),
		"phrase_starts":        fill("all tasks are "),
		"phrase_blanks":        fill("all" + strings.Repeat(" ", 5000)),
		"escapes":              fill("\x1b"),
		"csi":                  fill("\x1b["),
		"csi_endless":          fill("\x1b[" + strings.Repeat("1", 1000)),
		"osc":                  fill("\x1b]"),
		"osc_and_escape":       fill("\x1b]a\x1b\x1b"),
		"malformed":            fill("\xff"),
		"malformed_c1":         fill("a\x80"),
		"carriage_returns":     fill("\r"),
		"half_blocks":          fill(blockBegins + "\n"),
		"half_block":           blockBegins + "\n" + fill("all done <promise>T-1:DONE</promise>\n"),
	}
}

// growing joins runs of every length up to the given size.
func growing(size int, unit, between string) string {
	var b strings.Builder
	for n := 1; b.Len() < size; n++ {
		b.WriteString(strings.Repeat(unit, n%700+1) + between)
	}
	return b.String()
}

func BenchmarkScanner(b *testing.B) {
	for name, text := range streams(benchBytes) {
		b.Run(name, func(b *testing.B) { benchmarkText(b, text, Options{}) })
	}
}

func BenchmarkEcho(b *testing.B) {
	prompt := strings.Repeat("Keep the parser as it is.\nWrite a test for it.\n\n", 200)
	b.Run("own_words", func(b *testing.B) { benchmarkText(b, streams(benchBytes)["plain"], Options{Prompt: prompt}) })
	b.Run("echo", func(b *testing.B) { benchmarkText(b, strings.Repeat(prompt, 100), Options{Prompt: prompt}) })
	b.Run("held_lines", func(b *testing.B) {
		benchmarkText(b, strings.Repeat("Keep the parser as it is.\n", 40000), Options{Prompt: prompt})
	})
}

func benchmarkText(b *testing.B, text string, o Options) {
	p := []byte(text)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		s := NewScanner(o)
		for rest := p; len(rest) > 0; {
			n := min(len(rest), 32<<10)
			s.Write(rest[:n])
			rest = rest[n:]
		}
		s.Report()
	}
}
