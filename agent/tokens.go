package agent

import "github.com/ralphloop/ralph"

// usage is an object of figures as a CLI tells them. What is no figure counts as 0.
type usage map[string]float64

// tokenNames is what a CLI calls its four counts of tokens.
type tokenNames struct{ input, output, cacheRead, cacheWrite string }

// of takes the counts; nil if none of them is there.
func (n tokenNames) of(u usage) *ralph.Tokens {
	for _, name := range []string{n.input, n.output, n.cacheRead, n.cacheWrite} {
		if _, ok := u[name]; ok {
			return &ralph.Tokens{
				Input: int64(u[n.input]), Output: int64(u[n.output]), CacheRead: int64(u[n.cacheRead]), CacheWrite: int64(u[n.cacheWrite]),
			}
		}
	}
	return nil
}

// withoutCache takes out of an input figure what was read from and written to the cache, where it includes that.
func withoutCache(t *ralph.Tokens) *ralph.Tokens {
	if t != nil {
		t.Input = max(t.Input-t.CacheRead-t.CacheWrite, 0)
	}
	return t
}
