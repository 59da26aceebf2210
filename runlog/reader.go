package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/ralphloop/ralph"
)

// chunkSize is how much of a log is worked on at once: enough lines to pay for the hand-over, few enough to stay in a core's cache.
const chunkSize = 256 << 10

// decodeFunc turns the data of an event into its payload. The result must not point into data.
type decodeFunc func(kind ralph.EventType, data []byte) (any, error)

// visitFunc is given each event in order, with its line as it stands in the log, newline aside. The line may not be kept.
type visitFunc func(e ralph.Event, line []byte) error

// reader reads a log from offset on. It can be used again when the log has grown.
//
// Checking sums and decoding is most of the work and is spread over the processors, chunk by chunk; order, gaps and the caller's visit come
// after it, in the goroutine of the caller.
type reader struct {
	run    string
	path   string
	decode decodeFunc

	offset int64 // behind the last whole line that was read
	seq    int64 // of that line
	linked int64 // where the last line with a link begins
	tail   int64 // bytes behind offset that are a torn line, as of the last read
}

// chunk is a stretch of whole lines.
type chunk struct {
	offset  int64
	data    []byte
	entries []entry
	fault   error // of the line behind the last entry
	ready   chan struct{}
}

// entry is one verified line.
type entry struct {
	event  ralph.Event
	linked bool
	start  int
	end    int // without the newline
}

// read visits everything from offset to the end of the log as it is now.
func (r *reader) read(visit visitFunc) error {
	file, err := os.Open(r.path)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	r.tail = 0
	left := max(0, info.Size()-r.offset) + 1 // one byte more, to meet the end at the first try
	source := &cutter{file: file, path: r.path, size: int(min(left, chunkSize)), offset: r.offset}
	first, err := source.next(&chunk{})
	switch {
	case err != nil:
		return r.close(source, nil, err)
	case !source.ended:
		return r.readParallel(source, first, visit)
	}
	r.parse(first)
	torn, err := r.take(first, visit)
	return r.close(source, torn, err)
}

// readParallel is read for a log of more than one chunk.
func (r *reader) readParallel(source *cutter, first *chunk, visit visitFunc) error {
	workers := min(runtime.GOMAXPROCS(0), 8)
	belt := conveyor{
		work: make(chan *chunk, workers), ordered: make(chan *chunk, 2*workers), used: make(chan *chunk, 3*workers), quit: make(chan struct{}),
	}
	var all sync.WaitGroup
	var cutErr error
	all.Go(func() { cutErr = belt.cut(source, first) })
	for range workers {
		all.Go(func() {
			for c := range belt.work {
				r.parse(c)
				close(c.ready)
			}
		})
	}
	torn, err := r.takeAll(belt, visit)
	close(belt.quit)
	all.Wait()
	if err == nil {
		err = cutErr
	}
	return r.close(source, torn, err)
}

// conveyor is what chunks pass through: each goes to the workers and, in order, to the reader, which gives it back when it is done with it.
type conveyor struct {
	work    chan *chunk
	ordered chan *chunk
	used    chan *chunk
	quit    chan struct{} // closed when the reader wants no more
}

// cut feeds the other channels from source and closes them at its end.
func (b conveyor) cut(source *cutter, c *chunk) (err error) {
	defer close(b.ordered)
	defer close(b.work)
	for err == nil {
		c.ready = make(chan struct{})
		select {
		case b.ordered <- c:
		case <-b.quit:
			return nil
		}
		b.work <- c // the workers take everything until this channel is closed
		if source.ended {
			return nil
		}
		select {
		case c = <-b.used:
		default:
			c = &chunk{}
		}
		c, err = source.next(c)
	}
	return err
}

// takeAll is take for every chunk, in order. A torn line is only one if nothing comes after it.
func (r *reader) takeAll(belt conveyor, visit visitFunc) (torn *Damaged, err error) {
	for c := range belt.ordered {
		<-c.ready
		switch {
		case torn == nil:
			torn, err = r.take(c, visit)
		case len(c.data) > 0:
			err = torn
		}
		if err != nil {
			return nil, err
		}
		select {
		case belt.used <- c:
		default:
		}
	}
	return torn, nil
}

// parse verifies and decodes the lines of a chunk, up to the first that is wrong.
func (r *reader) parse(c *chunk) {
	c.entries, c.fault = c.entries[:0], nil
	for start := 0; start < len(c.data); {
		end := start + bytes.IndexByte(c.data[start:], '\n')
		event, linked, err := r.event(c.data[start:end])
		if err != nil {
			c.fault = err
			c.entries = append(c.entries, entry{start: start, end: end})
			return
		}
		c.entries = append(c.entries, entry{event, linked, start, end})
		start = end + 1
	}
}

// event reads one line, and says whether it carries a link.
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
	if err != nil { // perhaps because a field that is new to this version stands behind the data
		if e, err = parseAny(line); err == nil {
			data, err = r.decode(e.kind, e.data)
		}
	}
	if err != nil {
		return ralph.Event{}, false, err
	}
	return ralph.Event{Version: e.version, Seq: e.seq, Time: e.time, Run: r.run, Iteration: e.iteration, Type: e.kind, Data: data}, linked, nil
}

// take checks the order of a parsed chunk's events and visits them. torn is a line with a wrong sum that ends the chunk: whether it is damage
// depends on what comes after.
func (r *reader) take(c *chunk, visit visitFunc) (torn *Damaged, err error) {
	for i, e := range c.entries {
		if c.fault != nil && i == len(c.entries)-1 {
			return r.judgeFault(c)
		}
		if e.event.Seq != r.seq+1 {
			return nil, r.damaged(c, e, fmt.Sprintf("event %d follows event %d", e.event.Seq, r.seq))
		}
		r.seq, r.offset = e.event.Seq, c.offset+int64(e.end)+1
		if e.linked {
			r.linked = c.offset + int64(e.start)
		}
		if err := visit(e.event, c.data[e.start:e.end]); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (r *reader) judgeFault(c *chunk) (torn *Damaged, err error) {
	if newer, ok := errors.AsType[*TooNew](c.fault); ok {
		return nil, newer
	}
	last := c.entries[len(c.entries)-1]
	damaged := r.damaged(c, last, c.fault.Error())
	if errors.Is(c.fault, errSum) && last.end == len(c.data)-1 {
		return damaged, nil
	}
	return nil, damaged
}

func (r *reader) damaged(c *chunk, e entry, why string) *Damaged {
	return &Damaged{Path: r.path, Offset: c.offset + int64(e.start), Line: r.seq + 1, Why: why}
}

// close ends a read: it decides whether a wrong last line was torn or damaged, and measures the tail.
func (r *reader) close(source *cutter, torn *Damaged, err error) error {
	if err != nil {
		if damaged, ok := errors.AsType[*Damaged](err); ok && damaged.Line == 0 {
			damaged.Line = r.seq + 1
		}
		return err
	}
	if torn != nil && source.rest > 0 {
		return torn
	}
	r.tail = source.offset + source.rest - r.offset
	return nil
}

// cutter cuts a log into chunks of whole lines.
type cutter struct {
	file   io.ReaderAt
	path   string
	size   int   // of a chunk, unless a line is longer
	offset int64 // of the next chunk
	rest   int64 // bytes behind the last newline, once ended
	ended  bool
}

// next fills c. The last chunk may be empty.
func (s *cutter) next(c *chunk) (*chunk, error) {
	c.offset, c.data = s.offset, c.data[:0]
	for size := s.size; ; size *= 2 {
		have := len(c.data)
		c.data = append(c.data, make([]byte, size-have)...)
		n, err := s.file.ReadAt(c.data[have:], s.offset+int64(have))
		c.data = c.data[:have+n]
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read log: %w", err)
		}
		s.ended = err != nil
		whole := bytes.LastIndexByte(c.data, '\n') + 1
		if whole > 0 || s.ended {
			s.offset += int64(whole)
			s.rest = int64(len(c.data) - whole)
			c.data = c.data[:whole]
			return c, nil
		}
		if size > maxLine {
			return nil, &Damaged{Path: s.path, Offset: s.offset, Why: "a line without an end"}
		}
	}
}
