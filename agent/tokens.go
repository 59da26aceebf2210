package agent

import "github.com/ralphloop/ralph"

// tokenNames is what a CLI calls its four counts of tokens.
type tokenNames struct{ input, output, cacheRead, cacheWrite string }

// read takes an object of counts; nil if none of them is in it, or if it is no object.
func (n tokenNames) read(w *walker) *ralph.Tokens {
	var t ralph.Tokens
	known := false
	for key := range w.fields() {
		known = n.take(w, key, &t) || known
	}
	if !known {
		return nil
	}
	return &t
}

// take takes one count if the key is the name of one.
func (n tokenNames) take(w *walker, key []byte, to *ralph.Tokens) bool {
	switch string(key) {
	case n.input:
		to.Input = w.count()
	case n.output:
		to.Output = w.count()
	case n.cacheRead:
		to.CacheRead = w.count()
	case n.cacheWrite:
		to.CacheWrite = w.count()
	default:
		return false
	}
	return true
}

// readText is read for a value that was kept as it was written; nil is none.
func (n tokenNames) readText(text []byte) *ralph.Tokens {
	if text == nil {
		return nil
	}
	return n.read(&walker{text: text})
}

// withoutCache takes out of an input figure what was read from and written to the cache, where it includes that.
func withoutCache(t *ralph.Tokens) *ralph.Tokens {
	if t != nil {
		t.Input = max(t.Input-t.CacheRead-t.CacheWrite, 0)
	}
	return t
}

// addTokens adds what was used to a sum.
func addTokens(sum *ralph.Tokens, used ralph.Tokens) {
	sum.Input += used.Input
	sum.Output += used.Output
	sum.CacheRead += used.CacheRead
	sum.CacheWrite += used.CacheWrite
}
