package verify

import (
	"strings"
	"testing"
)

// TestHintKeptNamesTheFileOfTheMessage: the hint named the shell that printed the message, and offered to make /bin
// writable.
func TestHintKeptNamesTheFileOfTheMessage(t *testing.T) {
	keeps := func(path string) bool { return !strings.HasPrefix(path, "/work/") }
	const toLet = "; to let them: --set 'sandbox.write=/home/u/.pyenv'"
	for name, test := range map[string]struct{ printed, want string }{
		"dash": {
			"/bin/sh: 1: cannot create /etc/hosts: Read-only file system",
			"checks cannot change /etc/hosts",
		},
		"bash": {
			"/bin/bash: line 1: /home/u/.pyenv/version: Read-only file system",
			"checks cannot change /home/u/.pyenv/version" + toLet,
		},
		"coreutils": {
			"touch: cannot touch '/usr/local/lib/x': Read-only file system",
			"checks cannot change /usr/local/lib/x",
		},
		"go": {
			"ok  \t/home/u/other\nopen /home/u/.pyenv/version: read-only file system\n",
			"checks cannot change /home/u/.pyenv/version" + toLet,
		},
		"python": {
			"/work/test_a.py:3: OSError: [Errno 30] Read-only file system: '/home/u/.pyenv/version'",
			"checks cannot change /home/u/.pyenv/version" + toLet,
		},
		"node": {
			"Error: EROFS: read-only file system, open '/home/u/.pyenv/version'",
			"checks cannot change /home/u/.pyenv/version" + toLet,
		},
		"a file of the root folder": {"sh: 1: cannot create /x: Read-only file system", "checks cannot change /x"},
		"only a program":            {"/opt/tool: Read-only file system", ""},
		"another line":              {"/etc/hosts was read\nRead-only file system\n", ""},
		"another message":           {"cat: /etc/shadow: Permission denied", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hintKept(test.printed, keeps); got != test.want {
				t.Errorf("hint: %q, want %q", got, test.want)
			}
		})
	}
}
