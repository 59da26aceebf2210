package prompt

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// numbered is a list of n tasks, the first done of them done, with number own as the own one.
func numbered(n, done, own int) ralph.PromptInput {
	var in ralph.PromptInput
	for i := range n {
		task := ralph.TaskState{ID: fmt.Sprintf("T-%03d", i), Title: strings.Repeat("x", 90), Status: ralph.TaskPending}
		if i < done {
			task.Status = ralph.TaskDone
		}
		if i == own {
			in.Task = &ralph.Task{ID: task.ID}
		}
		in.Tasks = append(in.Tasks, task)
	}
	return in
}

func TestPlanIsShownAroundTheOwnTask(t *testing.T) {
	const each = 105 // characters of a row with its break
	for _, tt := range []struct {
		name               string
		in                 ralph.PromptInput
		first, last        string
		rows, tasks, shown int
	}{
		{"short", numbered(10, 3, 3), "   [x] T-000", "   [ ] T-009", 10, 10, 10},
		{"done ones are counted", numbered(100, 60, 60), "   [… 60 done …]", "   [ ] T-099", 41, 100, 40},
		{"at the beginning", numbered(500, 0, 0), "-> [ ] T-000", "   [… 444 more …]", 57, 500, 56},
		{"in the middle", numbered(500, 0, 250), "   [… 222 more …]", "   [… 222 more …]", 58, 500, 56},
		{"behind the done", numbered(500, 100, 100), "   [… 100 done …]", "   [… 344 more …]", 58, 500, 56},
		{"at the end", numbered(500, 0, 499), "   [… 444 more …]", "-> [ ] T-499", 57, 500, 56},
		{"none is own", numbered(500, 0, -1), "   [ ] T-000", "   [… 444 more …]", 57, 500, 56},
		{"all are done", numbered(500, 500, -1), "   [… 500 done …]", "   [… 500 done …]", 1, 500, 0},
		{"the own one was done", numbered(500, 500, 7), "   [… 7 done …]", "   [… 492 done …]", 3, 500, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, truncated := overview(tt.in)
			rows := strings.Split(text, "\n")
			tasks, shown := 0, 0
			for _, r := range rows {
				var n int
				if _, err := fmt.Sscanf(r, "   [… %d", &n); err == nil {
					tasks += n
					continue
				}
				tasks, shown = tasks+1, shown+1
			}
			got := []any{
				rows[0][:min(len(rows[0]), len(tt.first))], rows[len(rows)-1][:min(len(rows[len(rows)-1]), len(tt.last))],
				len(rows), tasks, shown, truncated,
			}
			want := []any{tt.first, tt.last, tt.rows, tt.tasks, tt.shown, tt.shown < len(tt.in.Tasks)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("first, last, rows, tasks, shown, truncated (-want +got):\n%s", diff)
			}
			if n := utf8.RuneCountInString(text); n > planCap || truncated && tt.shown > 50 && n < planCap-2*each {
				t.Errorf("%d characters, and the cap is %d", n, planCap)
			}
		})
	}
}
