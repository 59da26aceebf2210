package contract

import (
	"testing"

	"github.com/ralphloop/ralph/internal/cli"
)

func TestCommands(t *testing.T) {
	compared{kind: "command", page: readPage(t).Commands(), code: cli.Commands(), coming: coming.commands}.check(t)
}

func TestRunFlags(t *testing.T) {
	compared{kind: "flag", page: readPage(t).RunFlags(), code: cli.RunFlags(), coming: coming.flags}.check(t)
}
