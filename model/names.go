package model

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// longWindow is the suffix by which Claude Code marks a model with a window of a million tokens.
const longWindow = "[1m]"

// PriceOf finds the price of a model by any of its usual names. It reports false for unknown names.
func PriceOf(name string) (Price, bool) {
	if strings.ContainsFunc(name, func(c rune) bool { return c > unicode.MaxASCII }) {
		return Price{}, false // lower-case letters of other scripts can look and even fold like ASCII
	}
	name, long := strings.CutSuffix(strings.ToLower(name), longWindow)
	p, ok := priceOf(name)
	if !ok || long && p.Provider != anthropic {
		return Price{}, false
	}
	return p, true
}

// SameModel reports whether two names can be of one model: they have the same price, or one contains
// the other, as an alias or a name without its date does.
func SameModel(a, b string) bool {
	first, known := PriceOf(a)
	second, alsoKnown := PriceOf(b)
	if known && alsoKnown {
		return first.Model == second.Model
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	return strings.Contains(a, b) || strings.Contains(b, a)
}

func priceOf(name string) (Price, bool) {
	prices := byName()
	if p, ok := prices[name]; ok {
		return p, true
	}
	if full, ok := table().Newest[name]; ok {
		return prices[full], true
	}
	maker, id, ok := withoutMaker(name)
	if !ok {
		return Price{}, false
	}
	for _, spelling := range spellings(id) {
		if p, ok := prices[spelling]; ok && (maker == "" || maker == p.Provider) {
			return p, true
		}
	}
	return Price{}, false
}

var byName = sync.OnceValue(func() map[string]Price {
	prices := map[string]Price{}
	for _, p := range table().Prices {
		prices[strings.ToLower(p.Model)] = p
	}
	return prices
})

const anthropic = "anthropic"

// makers maps the part before a slash to the maker whose prices apply.
var makers = map[string]string{
	"alibaba": "alibaba", "dashscope": "alibaba", "qwen": "alibaba",
	anthropic:  anthropic,
	"deepseek": "deepseek",
	"gemini":   "google", "google": "google", "models": "google", // "models/…" is how the Gemini API itself spells names
	"minimax": "minimax",
	"mistral": "mistral", "mistralai": "mistral",
	"moonshot": "moonshotai", "moonshotai": "moonshotai",
	"openai": "openai",
	"x-ai":   "xai", "xai": "xai",
	"z-ai": "zai", "zai": "zai",
}

// bedrock matches the name of an Anthropic model on Amazon Bedrock, which charges Anthropic's
// prices, or a tenth more if the region is chosen.
var bedrock = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:amazon-)?bedrock/)?(?:[a-z]{2,6}(?:-gov)?\.)?` +
		`anthropic\.(claude-.+?)(?:-v\d+)?(?::\d+)?$`)
})

// withoutMaker splits the maker off a name; "" if it names none. If the part before the slash is
// not a maker, it is a reseller with other prices, and ok is false.
func withoutMaker(name string) (maker, id string, ok bool) {
	if m := bedrock().FindStringSubmatch(name); m != nil {
		return anthropic, m[1], true
	}
	before, after, found := strings.Cut(name, "/")
	if !found {
		return "", name, true
	}
	maker, ok = makers[before]
	return maker, after, ok
}

// dated matches a name that ends in a day or "latest". Makers also date models by month, but those
// are separate models.
var dated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+?)(?:[-@]20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|` +
		`-20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])|-latest|@default)$`)
})

// spellings returns the names under which a model may be in the table, the closest first.
func spellings(id string) []string {
	if strings.HasPrefix(id, "claude-") {
		id = strings.ReplaceAll(id, ".", "-") // some write 4.5 instead of 4-5
	}
	all := []string{id}
	if m := dated().FindStringSubmatch(id); m != nil {
		all = append(all, m[1])
	}
	return all
}

// Window returns how many tokens fit into a model's context, request and reply together. It reports
// false for unknown models.
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

// Nearest returns the names of known models that are most like a name, at most n of them. A name that is too different
// has none.
func Nearest(name string, n int) []string {
	if name == "" {
		return nil
	}
	name = strings.ToLower(name)
	type place struct {
		name     string
		distance int
	}
	var near []place
	for known := range byName() {
		if d := editDistance(name, known); d <= max(2, len(name)/3) {
			near = append(near, place{known, d})
		}
	}
	slices.SortFunc(near, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	names := make([]string, 0, n)
	for _, p := range near[:min(n, len(near))] {
		names = append(names, p.name)
	}
	return names
}

// editDistance counts the letters to insert, delete or replace to get from one word to another.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := diagonal
			if a[i] != b[j] {
				next = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
