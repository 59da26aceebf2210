package secrets

import "io"

// Writer returns a writer that masks what it passes on to out. It keeps back the end of a text as
// long as a secret may begin there. Close passes on the rest and leaves out open.
func (m *Masker) Writer(out io.Writer) io.WriteCloser {
	if m == nil {
		return unchanged{out}
	}
	return &writer{masker: m, out: out, passed: []byte{0}}
}

type writer struct {
	masker *Masker
	out    io.Writer
	kept   []byte // not passed on yet
	passed []byte // the last byte passed on before, and what is passed on now
}

func (w *writer) Write(p []byte) (int, error) {
	text := p
	if len(w.kept) > 0 {
		w.kept = append(w.kept, p...)
		text = w.kept
	}
	return len(p), w.pass(text, true)
}

// Close passes on what was kept back.
func (w *writer) Close() error { return w.pass(w.kept, false) }

// pass masks text and passes it on. What may become a secret is kept if there is more to come.
func (w *writer) pass(text []byte, more bool) error {
	var taken int
	w.passed[0] = w.passed[len(w.passed)-1]
	w.passed, taken = w.masker.appendMasked(w.passed[:1], text, more)
	w.kept = append(w.kept[:0], text[taken:]...)
	if len(w.passed) == 1 {
		return nil
	}
	_, err := w.out.Write(w.passed[1:])
	return err
}

type unchanged struct{ io.Writer }

func (unchanged) Close() error { return nil }
