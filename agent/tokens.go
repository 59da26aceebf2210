package agent

import "github.com/ralphloop/ralph"

// usage is an object of figures as reported by a CLI. A value that is not a number counts as 0.
type usage map[string]float64

// tokenNames are a CLI's names for the four token counts.
type tokenNames struct{ input, output, cacheRead, cacheWrite string }

// of reads the counts; nil if none of them is present.
func (n tokenNames) of(u usage) *ralph.Tokens {
	for _, name := range []string{n.input, n.output, n.cacheRead, n.cacheWrite} {
		if _, ok := u[name]; ok {
			return &ralph.Tokens{
				Input:      int64(u[n.input]),
				Output:     int64(u[n.output]),
				CacheRead:  int64(u[n.cacheRead]),
				CacheWrite: int64(u[n.cacheWrite]),
			}
		}
	}
	return nil
}

// withoutCache subtracts cache reads and writes from an input figure that includes them.
func withoutCache(t *ralph.Tokens) *ralph.Tokens {
	if t != nil {
		t.Input = max(t.Input-t.CacheRead-t.CacheWrite, 0)
	}
	return t
}
