package runlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/ralphloop/ralph"
)

// chunkSize is how much of a log is read at once.
const chunkSize = 64 << 10

// decodeFunc decodes the data of an event into its payload. The result must not point into data.
type decodeFunc func(kind ralph.EventType, data []byte) (any, error)

// visitFunc receives each event in order, with its line as in the log, without the newline. The
// line must not be kept.
type visitFunc func(e ralph.Event, line []byte) error

// reader reads a log starting at offset. It can be reused when the log has grown.
type reader struct {
	run    string
	path   string
	decode decodeFunc

	offset int64 // after the last whole line that was read
	seq    int64 // of that line
	linked int64 // start of the last line with a link
	tail   int64 // bytes of a torn line after offset, as of the last read
}

// read visits everything from offset to the current end of the log.
func (r *reader) read(visit visitFunc) error {
	file, err := os.Open(r.path)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(r.offset, io.SeekStart); err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	r.tail = 0
	lines := bufio.NewReaderSize(file, chunkSize)
	current, next := &batch{}, &batch{}
	r.fill(current, lines)
	for {
		current.decoding.Wait()
		end := current.end
		if end == nil {
			r.fill(next, lines)
		}
		for i := range current.filled {
			if err := r.take(&current.entries[i], visit); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(end, io.EOF):
			return nil
		case errors.Is(end, errNoEnd):
			return r.damaged(end)
		case end != nil:
			return fmt.Errorf("read log: %w", end)
		}
		current, next = next, current
	}
}

// entry is one line, newline included, and its decoded contents.
type entry struct {
	line   []byte
	event  ralph.Event
	linked bool
	fault  error
}

// batch is a group of lines that are decoded together, on all processors and while earlier lines
// are visited: decoding is most of the work of a resume.
type batch struct {
	entries  []entry
	filled   int   // number of entries that hold a line
	end      error // why no lines follow, such as io.EOF
	decoding sync.WaitGroup
}

// batchSize is the number of lines decoded together: enough to pay for the goroutines.
const batchSize = 512

// fill reads the next lines and starts decoding them.
func (r *reader) fill(b *batch, lines *bufio.Reader) {
	if b.entries == nil {
		b.entries = make([]entry, batchSize)
	}
	for b.filled, b.end = 0, nil; b.end == nil && b.filled < len(b.entries); {
		e := &b.entries[b.filled]
		if e.line, b.end = readLine(lines, e.line); len(e.line) > 0 {
			b.filled++
		}
	}
	for part := range slices.Chunk(b.entries[:b.filled], len(b.entries)/min(runtime.GOMAXPROCS(0), len(b.entries))) {
		b.decoding.Go(func() {
			for i := range part {
				r.parse(&part[i])
			}
		})
	}
}

// parse decodes a line. A line without a newline is torn, however much of it there is.
func (r *reader) parse(e *entry) {
	line, whole := bytes.CutSuffix(e.line, []byte("\n"))
	if !whole {
		e.fault = errSum
		return
	}
	e.event, e.linked, e.fault = r.event(line)
}

var errNoEnd = errors.New("a line is too long")

// readLine reads the next line, newline included, into the memory of line. At the end of the log it
// returns what follows the last newline, with io.EOF.
func readLine(in *bufio.Reader, line []byte) ([]byte, error) {
	line = line[:0]
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		case len(line) > maxLine:
			return nil, errNoEnd
		}
	}
}

// take checks the order of the lines and visits their events. A line with a wrong sum is torn if it
// is the last one, and damage otherwise.
func (r *reader) take(e *entry, visit visitFunc) error {
	if r.tail > 0 {
		return r.damaged(errSum)
	}
	if _, newer := errors.AsType[*TooNew](e.fault); newer {
		return e.fault
	}
	if errors.Is(e.fault, errSum) {
		r.tail = int64(len(e.line))
		return nil
	}
	if e.fault == nil && e.event.Seq != r.seq+1 {
		e.fault = fmt.Errorf("event %d follows event %d", e.event.Seq, r.seq)
	}
	if e.fault != nil {
		return r.damaged(e.fault)
	}
	if e.linked {
		r.linked = r.offset
	}
	r.seq, r.offset = e.event.Seq, r.offset+int64(len(e.line))
	return visit(e.event, e.line[:len(e.line)-1])
}

// damaged returns an error for the line at offset.
func (r *reader) damaged(why error) *Damaged {
	return &Damaged{Path: r.path, Offset: r.offset, Line: r.seq + 1, Why: why.Error()}
}

// event decodes one line and reports whether it has a link.
func (r *reader) event(line []byte) (event ralph.Event, linked bool, err error) {
	e, err := parseLine(line)
	if err != nil {
		return ralph.Event{}, false, err
	}
	linked = e.linked
	if e.version > ralph.EventVersion {
		return ralph.Event{}, false, &TooNew{Path: r.path, Version: e.version}
	}
	if string(e.run) != r.run {
		return ralph.Event{}, false, fmt.Errorf("it belongs to run %q", e.run)
	}
	data, err := r.decode(e.kind, e.data)
	if err != nil { // a field unknown to this version may follow the data
		if e, err = parseAny(line); err == nil {
			data, err = r.decode(e.kind, e.data)
		}
	}
	if err != nil {
		return ralph.Event{}, false, err
	}
	return ralph.Event{
		Version:   e.version,
		Seq:       e.seq,
		Time:      e.time,
		Run:       r.run,
		Iteration: e.iteration,
		Type:      e.kind,
		Data:      data,
	}, linked, nil
}
