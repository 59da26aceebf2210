//go:build linux

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"
)

// row is one line of the table.
type row struct {
	What  string  `json:"what"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Floor float64 `json:"floor"`
	Of    string  `json:"floor_is"` // what the floor is
	Ratio float64 `json:"ratio"`
	Aim   aim     `json:"aim"`
	Hit   *bool   `json:"hit"` // null if there is no aim
	Note  string  `json:"note,omitempty"`
}

// aim is the target of a row. A zero aim is none.
type aim struct {
	On    aimed   `json:"on,omitempty"`
	Limit float64 `json:"limit,omitempty"`
}

type aimed string

const (
	ratioAtMost  aimed = "ratio <="
	valueAtMost  aimed = "value <="
	valueAtLeast aimed = "value >="
)

func (r row) judged() row {
	if r.Ratio == 0 && r.Floor != 0 {
		r.Ratio = r.Value / r.Floor
	}
	hit := false
	switch r.Aim.On {
	case ratioAtMost:
		hit = r.Ratio <= r.Aim.Limit
	case valueAtMost:
		hit = r.Value <= r.Aim.Limit
	case valueAtLeast:
		hit = r.Value >= r.Aim.Limit
	default:
		return r
	}
	r.Hit = &hit
	return r
}

func (r row) aimText() string {
	switch r.Aim.On {
	case ratioAtMost:
		return fmt.Sprintf("<= %gx", r.Aim.Limit)
	case valueAtMost:
		return fmt.Sprintf("<= %g %s", r.Aim.Limit, r.Unit)
	case valueAtLeast:
		return fmt.Sprintf(">= %g %s", r.Aim.Limit, r.Unit)
	}
	return "-"
}

func (r row) verdict() string {
	switch {
	case r.Hit == nil:
		return "-"
	case *r.Hit:
		return "hit"
	}
	return "MISS"
}

// report holds all results of one run.
type report struct {
	Machine machine `json:"machine"`
	Rows    []row   `json:"rows"`
}

func (r report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.Machine)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\tvalue\tfloor\tratio\taim\t\tfloor is")
	for _, row := range r.Rows {
		fmt.Fprintf(table, "%s\t%s %s\t%s\t%.2fx\t%s\t%s\t%s\n",
			row.What, short(row.Value), row.Unit, short(row.Floor), row.Ratio, row.aimText(), row.verdict(), row.Of)
	}
	_ = table.Flush() // writes to memory
	for _, row := range r.Rows {
		if row.Note != "" {
			fmt.Fprintf(&b, "\n%s: %s", row.What, row.Note)
		}
	}
	return b.String() + "\n"
}

// short formats a figure with three significant digits.
func short(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

func TestReport(t *testing.T) {
	machine := machine{
		Cores: 2, Go: "go1.26", System: "linux/amd64", State: "ext4", NewFile: 0.006, LoadBefore: 0.5, LoadAfter: 1,
	}
	got := report{machine, []row{
		row{What: "iteration", Unit: "ms", Value: 2.5, Floor: 1, Of: "bare loop", Aim: aim{ratioAtMost, 2.5}}.judged(),
		row{
			What: "parsing", Unit: "MB/s", Value: 499, Floor: 2000, Of: "reading", Aim: aim{valueAtLeast, 500},
			Note: "a gigabyte",
		}.judged(),
		row{What: "memory", Unit: "MB", Value: 10, Floor: 0, Of: "nothing", Aim: aim{valueAtMost, 25}}.judged(),
		row{What: "extra", Unit: "ms", Value: 123.4, Floor: 100, Ratio: 1.3, Of: "bare loop"}.judged(),
	}}
	want := "go1.26, linux/amd64, 2 cores, load 0.5 before and 1.0 after, " +
		`state on ext4, where a new file takes 0.006 ms of CPU

what       value       floor  ratio  aim               floor is
iteration  2.50 ms     1.00   2.50x  <= 2.5x     hit   bare loop
parsing    499 MB/s    2000   0.25x  >= 500 MB/s  MISS  reading
memory     10.0 MB     0.00   0.00x  <= 25 MB    hit   nothing
extra      123 ms      100    1.30x  -           -     bare loop

parsing: a gigabyte
`
	squeeze := func(s string) string {
		lines := strings.Split(s, "\n")
		for i, line := range lines {
			lines[i] = strings.Join(strings.Fields(line), " ")
		}
		return strings.Join(lines, "\n")
	}
	if diff := cmp.Diff(squeeze(want), squeeze(got.text())); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	var encoded bytes.Buffer
	if err := json.NewEncoder(&encoded).Encode(got); err != nil {
		t.Fatal(err)
	}
	var again report
	if err := json.Unmarshal(encoded.Bytes(), &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("JSON (-wrote +read):\n%s", diff)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 1, 2, 9}, 3},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}
