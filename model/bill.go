package model

import "math"

// Bill adds up the usage of model calls. It sums everything that is known, even if other parts are
// unknown: a lower bound is better than nothing, as long as it is marked as one.
type Bill struct {
	// Price returns what a model costs; default: PriceOf.
	Price func(name string) (Price, bool)

	sum Sum
}

// Sum is the total so far. A value that is unknown is nil, never zero.
type Sum struct {
	Usage        *Usage
	Cost         *float64 // USD
	Estimated    bool     // some of Cost comes from prices, not from the provider
	MissingUsage bool     // some reply reported no usage, so Usage and Cost are lower bounds
	Unpriced     bool     // the cost of some tokens is unknown, so Cost is a lower bound
}

// Add counts a reply and the usage lost before it. It returns the cost of the reply alone, or nil
// if that is unknown. What the provider charges counts; otherwise the model is identified by the
// provider's name for it, or else by the requested name. A reply without usage marks the sum as
// incomplete, unless it is empty.
func (b *Bill) Add(r Reply, asked string) *float64 {
	b.Count(r.Lost, r.Model, asked)
	if (r.Usage == nil || !r.Usage.Plausible()) && !r.Empty() {
		b.sum.MissingUsage = true
	}
	if r.Cost == nil || !(*r.Cost >= 0 && *r.Cost < maxCost) {
		return b.Count(r.Usage, r.Model, asked)
	}
	if r.Usage != nil && r.Usage.Plausible() {
		b.sum.Usage = sum(b.sum.Usage, r.Usage)
	}
	b.addCost(*r.Cost)
	return rounded(r.Cost)
}

// maxCost is more than a reply can cost, in USD.
const maxCost = 1e6

func (b *Bill) addCost(usd float64) {
	if b.sum.Cost != nil {
		usd += *b.sum.Cost
	}
	b.sum.Cost = &usd
}

// Count counts tokens of one model, identified by the first name that has a price. It returns their
// cost, or nil if that is unknown. Without tokens, or with implausible counts, it counts nothing.
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
	b.addCost(usd)
	b.sum.Estimated = true
	return rounded(&usd)
}

// AddUnknown records usage that was not reported, such as that of an interrupted reply: the
// provider still charges for it.
func (b *Bill) AddUnknown() { b.sum.MissingUsage = true }

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

// Sum returns the total so far, as an independent copy.
func (b *Bill) Sum() Sum {
	s := b.sum
	s.Cost = rounded(s.Cost)
	if s.Usage != nil {
		usage := *s.Usage
		s.Usage = &usage
	}
	return s
}

// rounded cuts off digits beyond the precision of such sums.
func rounded(usd *float64) *float64 {
	if usd == nil {
		return nil
	}
	r := math.Round(*usd*1e6) / 1e6
	return &r
}
