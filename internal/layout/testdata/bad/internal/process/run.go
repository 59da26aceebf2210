package process

import (
	. "os"
	"os/exec"
)

var _ = exec.Command("sh", Args...)
