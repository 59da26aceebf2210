//go:build linux

// Package bench measures what the harness costs. Each figure has a floor beside it: the least that
// a program could do for the same effect.
//
// `make bench` prints one table and writes it as JSON. The ordinary tests run the same code with
// tiny sizes, so that it keeps working; their measurements mean nothing.
//
// A figure and its floor come from two processes that take turns, a few iterations each, directed
// by a third, so that other load on the machine affects both alike. The comparison uses CPU time,
// of the process and of everything it waited for, wherever a wall clock would mostly show the load
// of the machine. The ratio is the median of the rounds' ratios, so it may differ from the quotient
// of the two medians beside it.
//
// The program consists of test files because the floor has to start processes directly, which
// elsewhere only package process may do. It needs Linux, because it reads memory figures from
// /proc.
package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// roleVariable makes the test program play a role instead of running tests.
const roleVariable = "BENCH_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := os.Unsetenv(roleVariable); err != nil { // processes that the role starts must not see it
		panic(err)
	}
	os.Exit(play(role))
}

func play(role string) int {
	switch role {
	case "ralph":
		return playRalph()
	case "stamp":
		return playStamp()
	}
	part, known := parts[role]
	if !known {
		fmt.Fprintf(os.Stderr, "bench: no role %q\n", role)
		return 2
	}
	var task task
	if err := json.Unmarshal([]byte(os.Args[1]), &task); err != nil {
		fmt.Fprintf(os.Stderr, "bench: read task: %v\n", err)
		return 2
	}
	if err := part(task); err != nil {
		fmt.Fprintf(os.Stderr, "bench: play %s: %v\n", role, err)
		return 1
	}
	return 0
}
