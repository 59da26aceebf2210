// Package main is too long by one line of code; comments and blank lines are free.
package main

import (
	"context"
	"os"

	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/cli"
)

// main may exit and make the first context.
func main() {
	build := assembly.Build
	_ = build
	ctx := context.Background()
	if code := cli.Main(ctx, os.Args); code != 0 {
		os.Exit(code)
	}
	os.Exit(0)
}
