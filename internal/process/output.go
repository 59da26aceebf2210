package process

import (
	"cmp"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// drainLimit is how long a stream may stay open once the tree is gone. It only matters if a
	// process cannot be found or killed.
	drainLimit = 2 * time.Second
	// remainderLimit is how much is still read from an abandoned pipe: more than pipes can store, so
	// that only an endless stream is cut.
	remainderLimit = 1 << 20
)

// buffer is small, because two of them live as long as each tree.
type buffer [32 << 10]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// output is the two streams of one tree and the goroutines that read them.
type output struct {
	streams     []*stream // stdout, and stderr if it is not merged into it
	readers     sync.WaitGroup
	drained     chan struct{} // closed when every stream is read to its end
	trouble     chan struct{} // closed at the first error or panic
	troubleOnce sync.Once
	pending     atomic.Int32
	// lastByte is when a byte was last read, in nanoseconds since born. It is only updated if watched
	// is set.
	lastByte atomic.Int64
	watched  bool
	born     time.Time
}

// stream is one pipe from the tree to its sink.
type stream struct {
	name             string
	read, write      *os.File
	file             *OutputFile
	sink             Sink
	mask             io.WriteCloser // leads to file and tap; nil if nothing is masked
	bytes            int64
	err              error
	panicked         *TapPanic
	tapOff, heldOpen bool
}

// openOutput creates the files and pipes. Files come first: a state folder that cannot be written
// must be noticed before a program runs.
func openOutput(s *Spec) (*output, error) {
	o := &output{
		drained: make(chan struct{}),
		trouble: make(chan struct{}),
		watched: s.IdleTimeout > 0,
		born:    time.Now(),
	}
	err := o.add("stdout", s.Stdout)
	if err == nil && !s.StderrToStdout {
		err = o.add("stderr", s.Stderr)
	}
	for _, st := range o.streams {
		if s.Mask != nil {
			st.mask = s.Mask(delivery{o, st})
		}
	}
	if err != nil {
		o.discard()
		return nil, err
	}
	return o, nil
}

func (o *output) add(name string, sink Sink) error {
	st := &stream{name: name, sink: sink, tapOff: sink.Tap == nil}
	o.streams = append(o.streams, st)
	var err error
	if sink.Path != "" {
		if st.file, err = CreateOutput(name, sink.Path, sink.Limit); err != nil {
			return err
		}
	}
	if st.read, st.write, err = os.Pipe(); err != nil {
		return &IOError{Op: "make " + name + " pipe", Err: err}
	}
	return nil
}

// discard closes everything of an output whose process never started.
func (o *output) discard() {
	for _, st := range o.streams {
		for _, f := range []*os.File{st.read, st.write} {
			if f != nil {
				_ = f.Close()
			}
		}
		if st.file != nil {
			_ = st.file.Close()
		}
	}
}

// writeEnds returns the files that become the child's fd 1 and 2.
func (o *output) writeEnds() (stdout, stderr *os.File) {
	return o.streams[0].write, o.streams[len(o.streams)-1].write
}

// begin starts reading; finish waits for the readers.
func (o *output) begin() {
	o.pending.Store(int32(len(o.streams)))
	for _, st := range o.streams {
		_ = st.write.Close()
		o.readers.Go(func() {
			o.consume(st)
			if st.mask != nil {
				_ = st.mask.Close() // the stream has the error
			}
			if o.pending.Add(-1) == 0 {
				close(o.drained)
			}
		})
	}
}

// finish waits until the streams end, or abandons them if they stay open, and completes the files.
// It returns the first error.
func (o *output) finish() error {
	o.drain()
	o.readers.Wait()
	var first error
	for _, st := range o.streams {
		_ = st.read.Close()
		if st.file != nil {
			st.err = cmp.Or(st.err, st.file.Close())
		}
		first = cmp.Or(first, st.err)
	}
	return first
}

func (o *output) drain() {
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	select {
	case <-o.drained:
	case <-limit.C:
		for _, st := range o.streams {
			if st.read.SetReadDeadline(time.Now()) != nil {
				_ = st.read.Close()
			}
		}
	}
}

// repanic continues the panic of a Tap in the goroutine that called Run.
func (o *output) repanic() {
	for _, st := range o.streams {
		if st.panicked != nil {
			panic(st.panicked)
		}
	}
}

// consume reads one stream to its end, even if its sink fails: a program must never hang on a full
// pipe.
func (o *output) consume(st *stream) {
	buf := buffers.Get().(*buffer)
	defer buffers.Put(buf)
	for {
		n, err := st.read.Read(buf[:])
		if n > 0 {
			o.take(st, buf[:n])
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			st.heldOpen = true
			o.readRemainder(st, buf[:])
			return
		}
		if err != nil {
			return
		}
	}
}

// readRemainder reads what is already in a pipe that is abandoned.
func (o *output) readRemainder(st *stream, buf []byte) {
	if st.read.SetReadDeadline(time.Time{}) != nil {
		return
	}
	for left := remainderLimit; left > 0; {
		n := readReady(st.read, buf)
		if n <= 0 {
			return
		}
		o.take(st, buf[:n])
		left -= n
	}
}

func (o *output) take(st *stream, p []byte) {
	st.bytes += int64(len(p))
	if o.watched {
		o.lastByte.Store(int64(time.Since(o.born)))
	}
	if st.mask != nil {
		_, _ = st.mask.Write(p) // the stream has the error
		return
	}
	o.deliver(st, p)
}

// delivery is the end of a stream, behind its mask.
type delivery struct {
	*output
	*stream
}

func (d delivery) Write(p []byte) (int, error) {
	d.deliver(d.stream, p)
	return len(p), nil
}

func (o *output) deliver(st *stream, p []byte) {
	if st.file != nil && st.file.err == nil {
		if _, err := st.file.Write(p); err != nil {
			o.fail(st, err)
		}
	}
	if !st.tapOff {
		o.tap(st, p)
	}
}

func (o *output) tap(st *stream, p []byte) {
	defer func() {
		if v := recover(); v != nil {
			st.tapOff = true
			st.panicked = &TapPanic{Value: v, Stack: debug.Stack()}
			o.fail(st, st.panicked)
		}
	}()
	if _, err := st.sink.Tap.Write(p); err != nil {
		st.tapOff = true
		if _, described := errors.AsType[*IOError](err); !described {
			err = &IOError{Op: "pass on " + st.name, Err: err}
		}
		o.fail(st, err)
	}
}

func (o *output) fail(st *stream, err error) {
	st.err = cmp.Or(st.err, err)
	o.troubleOnce.Do(func() { close(o.trouble) })
}

// silence returns how long nothing was read.
func (o *output) silence() time.Duration {
	return time.Since(o.born) - time.Duration(o.lastByte.Load())
}

// describe copies the figures of the streams into the result.
func (o *output) describe(r *Result) {
	r.StdoutBytes, r.StdoutTruncated = o.streams[0].figures()
	if len(o.streams) > 1 {
		r.StderrBytes, r.StderrTruncated = o.streams[1].figures()
	}
	r.OutputHeld = slices.ContainsFunc(o.streams, func(st *stream) bool { return st.heldOpen })
}

func (st *stream) figures() (bytes int64, truncated bool) {
	return st.bytes, st.file != nil && st.file.Truncated()
}
