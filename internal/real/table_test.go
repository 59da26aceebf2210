//go:build linux

package real

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// table returns the figures of all cases, and every case that was wrong or dropped.
func table(cases []*change) string {
	var out strings.Builder
	writer := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(writer, "\tpackages\tcases\tright\t0 is right\t7 is right\truns, median\tworst\tCPU, median\tworst")
	group := func(name string, has func(*change) bool) {
		var members []*change
		for _, c := range cases {
			if c.Dropped == "" && has(c) {
				members = append(members, c)
			}
		}
		if len(members) > 0 {
			fmt.Fprintln(writer, name+"\t"+row(members))
		}
	}
	for _, ecosystem := range []string{"go", "npm", "debian"} {
		group(ecosystem+", pairs", func(c *change) bool { return c.Ecosystem == ecosystem && c.Kind == pairOfVersions })
	}
	group("pairs", func(c *change) bool { return c.Kind == pairOfVersions })
	group("bugs that tests notice", func(c *change) bool { return c.Kind == noticedBug })
	group("bugs that no test notices", func(c *change) bool { return c.Kind == unnoticedBug })
	group("all", func(*change) bool { return true })
	_ = writer.Flush()
	for _, c := range cases {
		if c.Dropped == "" && c.Got != c.Want {
			fmt.Fprintf(&out, "wrong: %s\n", c)
			if *show {
				fmt.Fprintln(&out, c.log)
			}
		}
	}
	for _, c := range cases {
		if c.Dropped != "" {
			fmt.Fprintln(&out, c)
		}
	}
	return out.String()
}

// row returns the figures of a group of cases. The runs are those of cases that ended with 0, because
// the agent of the others claims twice.
func row(members []*change) string {
	var packages []string
	var right [2]int
	var of [2]int
	var runs, ratios []float64
	for _, c := range members {
		packages = append(packages, c.Ecosystem+" "+c.Name)
		answer := min(c.Want, 1)
		of[answer]++
		if c.Got == c.Want {
			right[answer]++
		}
		if c.Got == 0 {
			runs = append(runs, float64(c.Runs))
		}
		if c.Runs > 0 && c.Bare > 0 {
			ratios = append(ratios, c.CPU/(float64(c.Runs)*c.Bare))
		}
	}
	slices.Sort(packages)
	return fmt.Sprintf("%d\t%d\t%d\t%d of %d\t%d of %d\t%s\t%s", len(slices.Compact(packages)), len(members),
		right[0]+right[1], right[0], of[0], right[1], of[1], spread(runs, "%.0f"), spread(ratios, "%.2fx"))
}

// spread returns the median and the largest value, as two cells.
func spread(values []float64, format string) string {
	if len(values) == 0 {
		return "-\t-"
	}
	slices.Sort(values)
	return fmt.Sprintf(format+"\t"+format, values[len(values)/2], values[len(values)-1])
}
