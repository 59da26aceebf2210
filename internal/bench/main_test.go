//go:build linux

// Package bench measures what the harness costs, each figure beside its floor: the least that a program could do for the same effect.
//
// `make bench` prints one table and writes it as JSON. The ordinary tests run the same code with tiny figures, so that it does not rot; what they
// measure is not worth reading.
//
// A figure and its floor come from two processes that take turns, a few iterations each, and are told to by a third: what else the machine does
// meets both alike. What is compared is CPU time, of the process and of all that it waited for, wherever a wall clock would mostly show the load
// of the machine. The ratio is the median of the rounds' ratios, so it need not be the quotient of the two medians beside it.
//
// The program is made of test files because the floor has to start processes by itself, which only package process may do elsewhere. It needs
// Linux: memory is read from /proc.
package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// roleVariable makes the test program play a part in place of running tests.
const roleVariable = "BENCH_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := os.Unsetenv(roleVariable); err != nil { // it is not meant for the processes that the role starts
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
