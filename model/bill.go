package model

import "math"

// Bill adds up what model calls took. What is known is summed up, whatever else is not: a lower bound is better than nothing, as long as it says that it is one.
type Bill struct {
	// Price knows what a model costs; nil is PriceOf.
	Price func(name string) (Price, bool)

	sum Sum
}

// Sum is a bill so far. What nobody told is nil, never zero.
type Sum struct {
	Usage    *Usage
	Cost     *float64 // USD
	Untold   bool     // some reply, or one that broke off, did not say what it took, so that there is more of both
	Unpriced bool     // what some tokens cost is not known, so that there is more of the cost
}

// Add counts a reply, and what was lost before it. It gives the cost of the reply alone, nil if that is not known. The model is known by the name that the
// provider has for it, or else by the one that was asked for. An empty reply that took nothing is none that does not tell.
func (b *Bill) Add(r Reply, asked string) *float64 {
	b.Count(r.Lost, r.Model, asked)
	if (r.Usage == nil || !r.Usage.Plausible()) && !r.Empty() {
		b.sum.Untold = true
	}
	return b.Count(r.Usage, r.Model, asked)
}

// Count counts tokens of one model, known by the first name that has a price, and gives their cost, nil if that is not known. Without tokens, or with
// nonsense for them, there is nothing to count.
func (b *Bill) Count(u *Usage, names ...string) *float64 {
	if u == nil || !u.Plausible() {
		return nil
	}
	b.sum.Usage = sum(b.sum.Usage, u)
	usd, known := b.costOf(*u, names)
	if !known {
		b.sum.Unpriced = true
		return nil
	}
	whole := usd
	if b.sum.Cost != nil {
		whole += *b.sum.Cost
	}
	b.sum.Cost = &whole
	return rounded(&usd)
}

// Miss counts what nobody told, such as a reply that broke off: it is paid as far as it came.
func (b *Bill) Miss() { b.sum.Untold = true }

func (b *Bill) costOf(u Usage, names []string) (usd float64, known bool) {
	price := b.Price
	if price == nil {
		price = PriceOf
	}
	for _, name := range names {
		if p, ok := price(name); ok && name != "" {
			if usd, known = p.Cost(u); known {
				return usd, true
			}
		}
	}
	return 0, false
}

// Sum is the bill so far: a value of its own.
func (b *Bill) Sum() Sum {
	s := b.sum
	s.Cost = rounded(s.Cost)
	if s.Usage != nil {
		usage := *s.Usage
		s.Usage = &usage
	}
	return s
}

// rounded is as exact as sums of such figures are.
func rounded(usd *float64) *float64 {
	if usd == nil {
		return nil
	}
	r := math.Round(*usd*1e6) / 1e6
	return &r
}
