package agent

import (
	"bytes"
	"io"
	"os"
)

// maxSessionPart limits how much of a session file is read at once.
const maxSessionPart = 4 << 20

// sessionFile is a file in which a CLI records a session while it works, one JSON object a line.
type sessionFile struct {
	path   string
	offset int64
}

// newLines returns the whole lines that were added since the last call. What cannot be read is left out: these figures
// only complete others.
func (s *sessionFile) newLines() [][]byte {
	if s.path == "" {
		return nil
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	part, err := io.ReadAll(io.NewSectionReader(f, s.offset, maxSessionPart))
	if err != nil {
		return nil
	}
	end := bytes.LastIndexByte(part, '\n') + 1
	if end == 0 && len(part) == maxSessionPart { // a line that is too long
		end = len(part)
	}
	s.offset += int64(end)
	return bytes.Split(part[:end], []byte("\n"))
}
