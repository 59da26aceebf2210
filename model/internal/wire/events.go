package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// Events yields the data of each server-sent event that has some. An error is the last thing it
// yields; a regular end yields none.
func Events(from io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func(data []byte, err error) bool) {
		lines := bufio.NewReaderSize(from, 16<<10)
		var data [][]byte
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(nil, err)
				}
				return
			}
			line = bytes.TrimRight(line, "\r\n") // a line may end with LF, CRLF, or CR and LF separately
			if len(line) == 0 && data != nil {
				if !yield(bytes.Join(data, []byte("\n")), nil) {
					return
				}
				data = nil
			}
			if field, value, _ := bytes.Cut(line, []byte(":")); string(field) == "data" { // a comment has no field
				data = append(data, bytes.TrimPrefix(value, []byte(" ")))
			}
		}
	}
}
