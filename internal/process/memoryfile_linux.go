package process

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// inMemory returns a file with a text. Nothing can change it, and it is in no folder.
func inMemory(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("ralph", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "ralph")
	const everything = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err = file.Write(text); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, everything)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// unchangeable returns a copy of a file, and closes the file. A program that has the file itself as its
// standard input can open it again by /proc/self/fd/0: for writing, and in any sandbox.
func unchangeable(file *os.File) (*os.File, error) {
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	return inMemory(text)
}
