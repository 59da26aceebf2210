package promise

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const completeText = "<promise>COMPLETE</promise>"

// TestLongText covers lines, tags and fields that are longer than any limit.
func TestLongText(t *testing.T) {
	words := strings.Repeat("word ", 20000)
	blanks := strings.Repeat(" ", 2*maxLine)
	signs := strings.Repeat("=", 2*maxLine)
	done := Report{Complete: true, CompleteTag: "COMPLETE", Text: true}
	mention := Report{Mentions: []string{"COMPLETE"}, Text: true}
	spoke := Report{Text: true}
	reason := strings.Repeat("why not ", 10000)
	blocked := Report{Blocked: new(strings.TrimSpace(reason[:maxContent])), Text: true}
	status := Status{
		State: "COMPLETE", TasksCompleted: 1, FilesModified: 2, Tests: "PASSING", WorkType: "IMPLEMENTATION",
		ExitSignal: true,
	}
	status.Recommendation = strings.TrimSpace(reason[:maxContent])

	for _, c := range []struct {
		name, text string
		want       Report
	}{
		{"tag behind a long line", words + completeText, done},
		{"tag before a long line", completeText + words, done},
		{"tag amid a long line", words + completeText + words, mention},
		{"tag amid signs", signs + completeText + signs, done},
		{"condition far away in the clause", "if " + words + completeText, mention},
		{"condition far away in another clause", "if. " + words + completeText, done},
		{"condition far behind in the clause", completeText + signs + "if", done},
		{"question far away", completeText + words[:1000] + "?", mention},
		{"long quoted line", "> " + words + completeText, spoke},
		{"long indent and a quoted line", blanks + "> " + completeText, spoke},
		{"long indent", blanks + completeText, done},
		{"long indent and a fence", blanks + "```\n" + completeText, done},
		{"long info string", "```" + words + "\n" + completeText, done},
		{"long line of a character of three bytes", strings.Repeat("世", maxLine) + completeText, done},
		{"quotation marks farther apart than a line is held", `"` + strings.Repeat(completeText, 2000) + `"`,
			Report{Complete: true, CompleteTag: "COMPLETE", Mentions: []string{"COMPLETE"}, Text: true}},
		{"long line in a fence", "```\n" + words + "\n" + completeText + "\n```", spoke},
		{"long blanks in a fence", "```\n" + blanks + completeText + blanks + "\n```", done},
		{"many tags in a fence", "```\n" + strings.Repeat(completeText, 2000) + "\n```", done},
		{"phrases on a long line", strings.Repeat("all done ", 10000), Report{Phrases: 10000, Text: true}},
		{"phrases without blanks at the fold", strings.Repeat("all tasks complete,", 10000),
			Report{Phrases: 10000, Text: true}},
		{"long line of tags and phrases", strings.Repeat("all done "+completeText, 5000),
			Report{Complete: true, CompleteTag: "COMPLETE", Mentions: []string{"COMPLETE"}, Phrases: 5000, Text: true}},

		{"learning on a long line", "LEARNING: " + words,
			Report{Learnings: []string{strings.TrimSpace(words[:maxLearning])}, Text: true}},
		{"learning behind a long indent", blanks + "- LEARNING: x", Report{Learnings: []string{"x"}, Text: true}},
		{"learning across the fold of a long indent", strings.Repeat(" ", maxLine-3) + "LEARNING: x",
			Report{Learnings: []string{"x"}, Text: true}},
		{"learning amid a long line", words + "LEARNING: x", spoke},
		{"learning behind tags without number", strings.Repeat(completeText, 2000) + "LEARNING: x", done},
		{"learning below a tag that is closed late", "<promise>BLOCKED:" + reason + "\nLEARNING: x\n</promise>",
			Report{Blocked: blocked.Blocked, Learnings: []string{"x"}, Text: true}},

		{"long content", "<promise>BLOCKED:" + reason + "</promise>", blocked},
		{"long content on many lines", "- <promise>BLOCKED:" + strings.ReplaceAll(reason, " ", "\n") + "</promise> so be it",
			blocked},
		{"long content behind blanks", "<promise>" + blanks + "BLOCKED:" + reason + "</promise>", blocked},
		{"long content amid words", "so <promise>BLOCKED:" + reason + "</promise> there",
			Report{Mentions: []string{"BLOCKED:" + strings.TrimSpace(reason[:72]) + "…"}, Text: true}},
		{"long content in a condition", "if so <promise>BLOCKED:" + reason + "</promise>",
			Report{Mentions: []string{"BLOCKED:" + strings.TrimSpace(reason[:72]) + "…"}, Text: true}},
		{"long content never closed", "<promise>BLOCKED:" + reason, spoke},
		{"long content and another opener", "<promise>BLOCKED:" + reason + "\n" + completeText, done},
		{"long content with phrases", "<promise>BLOCKED:" + strings.Repeat("all done\n", 10000),
			Report{Phrases: 10000, Text: true}},
		{"long content of unknown type", "<promise>" + reason + "</promise>", spoke},
		{"long content in a fence", "```\n<promise>BLOCKED:" + reason + "</promise>\n```\n" + completeText, done},
		{"long content in a quoted line", "> <promise>BLOCKED:" + reason + "</promise>\n" + completeText, done},

		{"long recommendation", strings.Replace(validBlock, "ship it", reason, 1),
			Report{Complete: true, Status: &status, Text: true}},
		{"long value", strings.Replace(validBlock, "PASSING", "PASSING"+blanks, 1),
			Report{StatusProblem: `TESTS_STATUS must be one of PASSING, FAILING, NOT_RUN, not "PASSING"`, Text: true}},
		{"long count", strings.Replace(validBlock, ": 2", ": 2"+blanks, 1),
			Report{StatusProblem: `FILES_MODIFIED must be a number, not "2"`, Text: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			messages := []string{c.text}
			if diff := cmp.Diff(c.want, readWhole(Options{}, messages)); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, readPieces(Options{}, messages, func(int) int { return 997 })); diff != "" {
				t.Errorf("in pieces (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManyTasks(t *testing.T) {
	var text strings.Builder
	want := Report{Text: true}
	for i := range 2 * maxTasks {
		fmt.Fprintf(&text, "<promise>T-%d:DONE</promise> ", i)
		if i < maxTasks {
			want.TasksDone = append(want.TasksDone, fmt.Sprintf("T-%d", i))
		}
	}
	for _, around := range [][2]string{{"", ""}, {"finished: ", ""}, {"```\n", "\n```"}, {blockBegins + "\n", ""}} {
		if diff := cmp.Diff(want, Parse(around[0]+text.String()+around[1], Options{})); diff != "" {
			t.Errorf("between %q (-want +got):\n%s", around, diff)
		}
	}
}

func TestManyLearnings(t *testing.T) {
	var text strings.Builder
	want := Report{Text: true}
	for i := range 3 * maxLearnings {
		fmt.Fprintf(&text, "LEARNING: number %d\nLEARNING: number 0\n", i)
		if i < maxLearnings {
			want.Learnings = append(want.Learnings, fmt.Sprintf("number %d", i))
		}
	}
	for _, before := range []string{"", "LEARNING: number 0\n" + blockBegins + "\n"} {
		if diff := cmp.Diff(want, Parse(before+text.String(), Options{})); diff != "" {
			t.Errorf("behind %q (-want +got):\n%s", before, diff)
		}
	}
}

func TestLongEcho(t *testing.T) {
	long := strings.Repeat("x", maxEchoLine)
	done := Report{Complete: true, CompleteTag: "COMPLETE", Text: true}
	for _, c := range []struct {
		name, prompt, text string
		want               Report
	}{
		{"longest line", completeText + "\n" + long, completeText + "\n" + long, Report{}},
		{"a longer line is no echo", completeText + "\n" + long + "x", completeText + "\n" + long + "x\n", done},
		{"after a longer line", "a\n" + completeText, long + "x\na\n" + completeText, Report{Text: true}},
	} {
		for _, size := range []int{1000, len(c.text)} {
			got := readPieces(Options{Prompt: c.prompt}, []string{c.text}, func(int) int { return size })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s in pieces of %d (-want +got):\n%s", c.name, size, diff)
			}
		}
	}
}

// TestMemoryStaysSmall writes far more than a scanner may hold, and checks what a live scanner
// keeps.
func TestMemoryStaysSmall(t *testing.T) {
	const limit, repeat = 256 << 10, 2
	for name, text := range streams(limit) {
		t.Run(name, func(t *testing.T) {
			p := []byte(text)
			before := heapInUse()
			s := NewScanner(Options{})
			for range repeat {
				s.Write(p)
			}
			if kept := heapInUse() - before; kept > limit {
				t.Errorf("after %d bytes the scanner keeps %d", repeat*len(p), kept)
			}
			s.Report()
		})
	}
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestWorkGrowsWithTheText guards against work that is repeated for every piece. Ten times the text
// may cost ten times the memory traffic, and each stage passes on its input once (a malformed byte
// becomes a replacement character of three bytes).
func TestWorkGrowsWithTheText(t *testing.T) {
	for name, text := range streams(128 << 10) {
		t.Run(name, func(t *testing.T) {
			small := trafficOf(text[:len(text)/10])
			large := trafficOf(text)
			if buffers := int64(256 << 10); large > 12*small+buffers {
				t.Errorf("%d bytes cost %d, ten times as many %d", len(text)/10, small, large)
			}
			var passed textCollector
			c := terminalCleaner{next: &passed}
			c.text([]byte(text))
			c.endMessage()
			if most := 3*len(text) + 1; passed.Len() > most {
				t.Errorf("%d bytes became %d", len(text), passed.Len())
			}
		})
	}
}

// trafficOf returns how many bytes are allocated to read the text.
func trafficOf(text string) int64 {
	p := []byte(text)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := NewScanner(Options{})
	s.Write(p)
	s.Report()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}
