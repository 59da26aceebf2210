package git

import (
	"errors"
	"testing"

	"github.com/ralphloop/ralph"
)

// What git printed when its calls failed, one at a time. B10: the storage's faults are not the
// agent's.
func TestFailuresOfStorage(t *testing.T) {
	for text, want := range map[string]bool{
		"error: unable to create temporary file: No space left on device\nerror: a: failed to insert into database":    true,
		"fatal: cannot update the ref 'HEAD': unable to append to '/p/.git/logs/HEAD': Input/output error":             true,
		"fatal: could not create leading directories of '/s/worktrees/r/.git': Permission denied":                      true,
		"fatal: cannot update ref 'HEAD': couldn't write '/p/.git/HEAD.lock'":                                          true,
		"fatal: could not open '.git/COMMIT_EDITMSG': Permission denied":                                               true,
		"fatal: cannot update the ref 'a': unable to create directory for '/p/.git/logs/a': No such file or directory": true,
		"fatal: cannot lock ref 'refs/heads/a/b': unable to create directory for /p/.git/refs/heads/a/b":               true,
		"fatal: could not open '/s/worktrees/r/.git' for writing: Permission denied":                                   true,
		"error: unable to set permission to '/s/snapshots.git/objects/tmp_objdir-bulk-fsync-a/b/c'":                    true,
		"fatal: couldn't set 'refs/heads/main'":                                                                        true,
		"fatal: Unable to write new index file":                                                                        true,
		"fatal: unable to write new index file":                                                                        true,
		"error: insufficient permission for adding an object to repository database .git/objects":                      true,
		"fatal: Unable to create '/p/.git/index.lock': Read-only file system":                                          true,

		"": false,
		"error: open(\"secret\"): Permission denied\nerror: unable to index file 'secret'":                      false,
		"error: open(\"Cargo.lock\"): Permission denied\nerror: unable to index file 'Cargo.lock'":              false,
		"fatal: could not open 'update.sh' for reading: Permission denied":                                      false,
		"fatal: cannot exec '.git/hooks/pre-commit': Permission denied":                                         false,
		"fatal: Unable to create '/p/.git/index.lock': File exists.\n\nAnother git process seems to be running": false,
		"sh: 1: cannot create out: Permission denied":                                                           false,
		"error: gpg failed to sign the data\nfatal: failed to write commit object":                              false,
		"error: 'sub/' does not have a commit checked out\nfatal: adding files failed":                          false,
	} {
		err := error(&Failure{what: "commit", Code: 128, Stderr: text})
		if got := errors.Is(err, ralph.ErrIO); got != want {
			t.Errorf("%q is a failure of storage: %v, want %v", text, got, want)
		}
	}
}
