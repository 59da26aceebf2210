package runlog

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ralphloop/ralph/internal/diskuse"
)

// sizeName is a file in the folder of a run that has ended. It contains the size of the log and that of
// the whole folder. The second holds as long as the first: after a run nothing but a resume, which adds
// to the log, changes its folder.
const sizeName = "size"

// Size returns how many bytes a run takes on the disk, without its snapshots.
func (s *Store) Size(of Summary) int64 {
	log, err := os.Lstat(s.logPath(of.Run))
	if err != nil || of.Live || of.Reason == "" {
		return diskuse.Of(s.RunDir(of.Run)).Bytes
	}
	path := filepath.Join(s.RunDir(of.Run), sizeName)
	text, _ := os.ReadFile(path) // missing until a run is first listed
	var logSize, size int64
	if n, _ := fmt.Sscanf(string(text), "%d %d\n", &logSize, &size); n == 2 && logSize == log.Size() {
		return size
	}
	size = diskuse.Of(s.RunDir(of.Run)).Bytes
	_ = os.WriteFile(path, fmt.Appendf(nil, "%d %d\n", log.Size(), size), fileMode) // a cache
	return size
}
