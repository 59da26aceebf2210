package process

import (
	"io/fs"
	"os"
)

// OutputFiles returns the regular files that receive what this process prints: the files behind
// stdout and stderr, and, where the system shows it, the files that the programs write that read
// them through a pipe, such as tee.
func OutputFiles() []fs.FileInfo {
	var found []fs.FileInfo
	for _, stream := range []*os.File{os.Stdout, os.Stderr} {
		info, err := stream.Stat()
		switch {
		case err != nil:
		case info.Mode().IsRegular():
			found = append(found, info)
		case info.Mode()&fs.ModeNamedPipe != 0:
			found = append(found, filesBehindPipe(stream)...)
		}
	}
	return found
}
