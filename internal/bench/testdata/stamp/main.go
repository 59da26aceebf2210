// Command stamp is an agent that only records when it ran: it appends "start end", in nanoseconds,
// to the file named by its first argument, and prints the other arguments. Without arguments it is
// the smallest program that Go makes.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	start := time.Now().UnixNano()
	if len(os.Args) < 2 {
		return
	}
	fmt.Println(strings.Join(os.Args[2:], " "))
	file, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		os.Exit(1)
	}
	fmt.Fprintln(file, start, time.Now().UnixNano())
}
