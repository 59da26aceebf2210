// Package needs is for tests that start a program which a machine may lack. `make test` passes with only Go, git and
// make installed, so such a test is skipped there, with its reason. In CI, where .ci/run installs everything, a missing
// program is an error: otherwise a test could be skipped forever.
package needs

import (
	"os"
	"os/exec"
)

// T is a test. It is the part of testing.TB that a testscript has, too.
type T interface {
	Skip(...any)
	Fatal(...any)
}

// Program returns the path of a program, or skips the test if it is not on PATH.
func Program(t T, name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name+" is not installed")
	}
	return path
}

// Missing skips a test that lacks something which can be installed. In CI it fails the test.
func Missing(t T, why string) {
	if Everything() {
		t.Fatal(why + ", and nothing is skipped in CI")
	} else {
		t.Skip(why)
	}
}

// Everything reports whether everything has to be installed, as in CI.
func Everything() bool { return os.Getenv("CI") != "" }
