package stream

import "github.com/ralphloop/ralph"

// TokenNames is what a CLI calls its four counts of tokens.
type TokenNames struct{ Input, Output, CacheRead, CacheWrite string }

// Read takes an object of counts; nil if none of them is in it, or if it is no object.
func (n TokenNames) Read(w *Walker) *ralph.Tokens {
	var t ralph.Tokens
	known := false
	for key := range w.Fields() {
		known = n.Take(w, key, &t) || known
	}
	if !known {
		return nil
	}
	return &t
}

// Take takes one count if the key is the name of one.
func (n TokenNames) Take(w *Walker, key []byte, to *ralph.Tokens) bool {
	switch string(key) {
	case n.Input:
		to.Input = w.Count()
	case n.Output:
		to.Output = w.Count()
	case n.CacheRead:
		to.CacheRead = w.Count()
	case n.CacheWrite:
		to.CacheWrite = w.Count()
	default:
		return false
	}
	return true
}

// ReadText is read for a value that was kept as it was written; nil is none.
func (n TokenNames) ReadText(text []byte) *ralph.Tokens {
	if text == nil {
		return nil
	}
	return n.Read(&Walker{Text: text})
}

// WithoutCache takes out of an input figure what was read from and written to the cache, where it includes that.
func WithoutCache(t *ralph.Tokens) *ralph.Tokens {
	if t != nil {
		t.Input = max(t.Input-t.CacheRead-t.CacheWrite, 0)
	}
	return t
}

// AddTokens adds what was used to a sum.
func AddTokens(sum *ralph.Tokens, used ralph.Tokens) {
	sum.Input += used.Input
	sum.Output += used.Output
	sum.CacheRead += used.CacheRead
	sum.CacheWrite += used.CacheWrite
}
