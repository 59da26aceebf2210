package model

import "strings"

// Window is how many tokens fit into a model's context, request and reply together. It reports false for models that it cannot tell.
func Window(name string) (tokens int64, ok bool) {
	p, ok := PriceOf(name)
	if !ok || p.Context <= 0 {
		return 0, false
	}
	if strings.HasSuffix(strings.ToLower(name), longWindow) {
		return max(p.Context, million), true
	}
	return p.Context, true
}
