//go:build linux

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// diary is an agent that works on a list forever. It records the length of its prompt, and what the
// program that started it has used so far.
const diary = `bytes=$(wc -c)
ralph=$(cut -d' ' -f4 /proc/$PPID/stat) # the parent of the guard
read -r size resident rest </proc/$ralph/statm
set -- $(cat /proc/$ralph/stat)
echo "$bytes $resident $((${14} + ${15} + ${16} + ${17}))" >>%s
echo $(($(cat n) + 1)) >n
echo working
`

// day is one line of the diary.
type day struct{ prompt, pages, ticks float64 }

// thousandIterations compares the last hundred iterations of a run through a task list with its
// first hundred: prompt, memory, and CPU of program and children.
func (b *bench) thousandIterations() {
	dir, lines := largeRepository(b.T, 1), filepath.Join(b.TempDir(), "diary")
	agent := filepath.Join(b.TempDir(), "agent.sh")
	writeFile(b.T, agent, fmt.Sprintf(diary, lines), 0o600)
	writeFile(b.T, filepath.Join(dir, "n"), "0\n", 0o600)
	writeFile(b.T, filepath.Join(dir, "IMPLEMENTATION_PLAN.md"), "- [ ] one\n- [ ] two\n- [ ] three\n", 0o600)
	args := []string{
		"run", "-C", dir, "--quiet", "--agent-cmd", "exec sh " +
			agent, "--check", "echo FAIL: not yet; exit 1", "-n", fmt.Sprint(b.thousand),
	}
	for _, off := range breakerOff {
		args = append(args, "--set", off)
	}
	b.runRalph(b.TempDir(), 1, args...)
	days := b.readDiary(lines)
	window := b.thousand / 10
	first, last := days[:window], days[len(days)-window:]
	what := fmt.Sprintf("the last %d of %d iterations, ", window, b.thousand)
	of := fmt.Sprintf("the first %d", window)
	mean := func(days []day, of func(day) float64) float64 {
		sum := 0.0
		for _, d := range days {
			sum += of(d)
		}
		return sum / float64(len(days))
	}
	prompt := func(d day) float64 { return d.prompt }
	b.add(row{
		What: what + "prompt", Unit: "bytes", Value: mean(last, prompt), Floor: mean(first, prompt), Of: of,
		Aim: aim{ratioAtMost, 1.1},
	})
	memory := func(d day) float64 { return d.pages * float64(os.Getpagesize()) / 1e6 }
	b.add(row{
		What: what + "resident memory", Unit: "MB", Value: mean(last, memory), Floor: mean(first, memory), Of: of,
		Aim: aim{ratioAtMost, 1.1},
	})
	cpu := func(days []day) float64 { return (days[len(days)-1].ticks - days[0].ticks) * 10 / float64(len(days)-1) }
	b.add(row{
		What: what + "CPU with all that it starts", Unit: "ms", Value: cpu(last), Floor: cpu(first), Of: of, Aim: aim{
			ratioAtMost, 1.1,
		},
		Note: "a task list, one check, a commit's worth of git for the fingerprint and the copy",
	})
}

func (b *bench) readDiary(path string) []day {
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	var days []day
	for line := range strings.Lines(string(text)) {
		var d day
		if _, err := fmt.Sscan(line, &d.prompt, &d.pages, &d.ticks); err != nil {
			b.Fatalf("line %q of the diary: %v", line, err)
		}
		days = append(days, d)
	}
	if len(days) != b.thousand {
		b.Fatalf("the diary has %d lines, want %d", len(days), b.thousand)
	}
	return days
}
