package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Events reads a stream of server-sent events, of which only the data matters here.
type Events struct {
	from *bufio.Reader
	data []byte
	err  error
}

// Read begins to read a stream.
func Read(from io.Reader) *Events { return &Events{from: bufio.NewReaderSize(from, 16<<10)} }

// Next reads the next event that has data. It is false at the end, of which Err tells whether it is a regular one.
func (e *Events) Next() bool {
	e.data = nil
	some := false
	for e.err == nil {
		var line []byte
		line, e.err = e.from.ReadBytes('\n')
		if e.err != nil {
			break
		}
		line = bytes.TrimRight(line, "\r\n") // it may end with LF, CRLF or CR LF apart
		if len(line) == 0 && some {
			return true
		}
		field, value, _ := bytes.Cut(line, []byte(":")) // a comment has no field
		if string(field) != "data" {
			continue
		}
		if some {
			e.data = append(e.data, '\n')
		}
		e.data, some = append(e.data, bytes.TrimPrefix(value, []byte(" "))...), true
	}
	return false
}

// Data is that of the event that was read.
func (e *Events) Data() []byte { return e.data }

// Err is why there is no other event, nil at a regular end.
func (e *Events) Err() error {
	if errors.Is(e.err, io.EOF) {
		return nil
	}
	return e.err
}
