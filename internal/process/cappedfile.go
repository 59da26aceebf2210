package process

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
)

// CappedFile is a file that keeps the start and the end of what is written to it. It never exceeds
// its limit by more than one line.
//
// The first half of the limit is written directly. The rest of the file is a ring buffer until
// Close puts it in order after a line that says how much is missing:
//
//	[ralph: 1234 bytes cut here]
//
// Output within the limit is stored unchanged.
//
//	[ralph: 1234 bytes cut here]
//
// What fits under the cap is stored as it came.
type CappedFile struct {
	file       *os.File
	head, tail int64 // bytes kept of the start and of the end
	total      int64 // all bytes written so far
	err        error // the first write error; nothing is written after it
}

// CreateCapped creates or truncates the file, with mode 0600. The limit must be positive.
func CreateCapped(path string, limit int64) (*CappedFile, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("create %s: limit of %d bytes", path, limit)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &CappedFile{file: file, head: limit / 2, tail: limit - limit/2}, nil
}

// Write stores p, overwriting the oldest bytes of the end if needed. After an error every later
// call returns the same error.
func (f *CappedFile) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	for rest := p; len(rest) > 0; {
		if surplus := int64(len(rest)) - f.tail; f.total >= f.head && surplus > 0 {
			// The end of this write will overwrite its own start.
			rest = rest[surplus:]
			f.total += surplus
		}
		at, room := f.position()
		n := min(int64(len(rest)), room)
		if _, err := f.file.WriteAt(rest[:n], at); err != nil {
			f.err = err
			return len(p) - len(rest), err
		}
		f.total += n
		rest = rest[n:]
	}
	return len(p), nil
}

// position returns where the next byte goes, and how many fit there without wrapping.
func (f *CappedFile) position() (at, room int64) {
	if f.total < f.head {
		return f.total, f.head - f.total
	}
	turn := (f.total - f.head) % f.tail
	return f.head + turn, f.tail - turn
}

// Truncated reports whether bytes are missing from the file.
func (f *CappedFile) Truncated() bool { return f.total > f.head+f.tail }

// Close puts the end in order and closes the file.
func (f *CappedFile) Close() error {
	var err error
	if f.err == nil && f.Truncated() {
		err = f.unroll()
	}
	return cmp.Or(err, f.file.Close())
}

// unroll turns head|newest|oldest into head|mark|oldest|newest. It works in place, because a full
// disk may have no room for a copy: with the mark appended, reversing the whole and then each part
// swaps the outer two.
func (f *CappedFile) unroll() error {
	cut := f.total - f.head - f.tail
	mark := fmt.Appendf(nil, "\n[ralph: %d bytes cut here]\n", cut)
	if _, err := f.file.WriteAt(mark, f.head+f.tail); err != nil {
		return err
	}
	newest := (f.total - f.head) % f.tail
	end := f.head + f.tail + int64(len(mark))
	oldestFrom := f.head + int64(len(mark))
	newestFrom := end - newest

	left, right := buffers.Get().(*buffer), buffers.Get().(*buffer)
	defer buffers.Put(left)
	defer buffers.Put(right)
	for _, part := range [][2]int64{{f.head, end}, {f.head, oldestFrom}, {oldestFrom, newestFrom}, {newestFrom, end}} {
		if err := f.reverse(part[0], part[1], left, right); err != nil {
			return err
		}
	}
	return nil
}

// reverse reverses the bytes of [from, to), from both ends inward.
func (f *CappedFile) reverse(from, to int64, left, right *buffer) error {
	for to-from > 1 {
		n := min(int64(len(left)), (to-from)/2)
		l, r := left[:n], right[:n]
		if _, err := f.file.ReadAt(l, from); err != nil {
			return err
		}
		if _, err := f.file.ReadAt(r, to-n); err != nil {
			return err
		}
		reverseBytes(l)
		reverseBytes(r)
		if _, err := f.file.WriteAt(r, from); err != nil {
			return err
		}
		if _, err := f.file.WriteAt(l, to-n); err != nil {
			return err
		}
		from, to = from+n, to-n
	}
	return nil
}

// reverseBytes reverses p, eight bytes at a time. Every byte of the end is reversed twice, and byte
// by byte that would cost as much as reading an agent's output.
func reverseBytes(p []byte) {
	for len(p) >= 16 {
		last := len(p) - 8
		front, back := binary.BigEndian.Uint64(p), binary.BigEndian.Uint64(p[last:])
		binary.LittleEndian.PutUint64(p, back)
		binary.LittleEndian.PutUint64(p[last:], front)
		p = p[8:last]
	}
	slices.Reverse(p)
}
