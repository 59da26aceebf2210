package verify

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ralphloop/ralph"
)

// maxBytecode is how much compiled Python a view starts with. Copying more costs more than compiling it.
const maxBytecode = 64 << 20

// bytecodeFolder is where Python keeps compiled files in a view. Those in the workspace are ignored by git, so their
// content is unknown, and checks must not leave any there.
func bytecodeFolder(folder string) string { return filepath.Join(folder, "pycache") }

// keepBytecode keeps what Python compiled before any agent worked, so that later views start with it. What later checks
// compile is not kept: the product that they run could have written it.
func (v *view) keepBytecode() {
	e := v.examiner
	isBaseline := v.in.Iteration == 0 && v.in.Kind == ralph.ViewClaimed
	if compiled := bytecodeFolder(v.folder); isBaseline && e.memory.bytecode == "" && isSmall(compiled) {
		kept := bytecodeFolder(e.Folder)
		if os.Rename(compiled, kept) == nil {
			e.memory.bytecode = kept
		}
	}
}

// warmBytecode gives a view its own copy of compiled files. Without it checks are slower, and nothing else.
func (e *Examiner) warmBytecode(folder string) {
	if e.memory.bytecode != "" {
		_ = os.CopyFS(bytecodeFolder(folder), os.DirFS(e.memory.bytecode))
	}
}

// isSmall reports whether a folder has files that are quickly copied.
func isSmall(folder string) bool {
	var size int64
	err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if size += info.Size(); size > maxBytecode {
			return fs.SkipAll
		}
		return nil
	})
	return err == nil && size > 0 && size <= maxBytecode
}
