//go:build unix

package inside

import (
	"path"
	"syscall"
)

// SystemPath is searched for programs if there is no PATH.
const SystemPath = "/usr/local/bin:/usr/bin:/bin"

// Search finds a program in the folders of a PATH, but not in relative folders: an agent could put
// a program there. It ignores files for which skip returns true. If it finds none, exists reports
// whether there is a file of that name that is not executable.
func Search(name, list string, skip func(path string) bool) (program string, exists bool) {
	for folder := range split(list, ':') {
		if !path.IsAbs(folder) {
			continue
		}
		program := path.Join(folder, name)
		var info syscall.Stat_t
		if syscall.Stat(program, &info) != nil || info.Mode&syscall.S_IFMT != syscall.S_IFREG || skip(program) {
			continue
		}
		if info.Mode&0o111 != 0 {
			return program, true
		}
		exists = true
	}
	return "", exists
}
