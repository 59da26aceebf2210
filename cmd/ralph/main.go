// Command ralph runs a coding agent again and again until its work is proven.
package main

import (
	"context"
	"os"

	"github.com/ralphloop/ralph/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), cli.System()))
}
