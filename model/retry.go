package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Retrier is a client that waits and asks again if that may help. The request stays the same.
//
// After faults of the provider it waits with growing pauses. It also waits for limits if the
// provider asks for at most a minute. Longer limits, used-up quotas and all other faults are
// returned at once: the caller knows what a run may spend, and when it must end.
//
// The provider charges for failed attempts. Their usage is reported in three places, to be counted
// once: with each [Pause], in the reply's Lost, and in the usage of the returned fault. If ctx
// ends, only the pauses have reported it.
type Retrier struct {
	Client Client
	// OnPause is called before each pause, on Send's goroutine. It may be nil.
	OnPause func(Pause)
	// Sleep waits, and returns ctx's error if that ends first. Default: a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Random returns numbers in [0, 1), which spread the pauses of many clients. Default: a generator.
	Random func() float64
}

// WithRetries returns a client that retries, and reports each pause to onPause. If c retries
// already, it does not retry twice as often: the copy calls onPause in addition to c's own OnPause.
func WithRetries(c Client, onPause func(Pause)) *Retrier {
	own, ok := c.(*Retrier)
	if !ok {
		return &Retrier{Client: c, OnPause: onPause}
	}
	p, before := *own, own.OnPause
	p.OnPause = func(pause Pause) {
		if before != nil {
			before(pause)
		}
		onPause(pause)
	}
	return &p
}

// Pause is a wait between two attempts.
type Pause struct {
	Fault   *Fault // the reason, with the usage that was lost
	Attempt int    // the number of the failed attempt, from 1
	Wait    time.Duration
}

// longestPause is the longest wait before another attempt.
const longestPause = time.Minute

// pauses are the waits after each failed attempt. There is one more attempt after the last one.
var pauses = []time.Duration{
	2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, longestPause, longestPause,
}

// Send asks until there is a reply, a permanent fault, or no attempt left.
func (p *Retrier) Send(ctx context.Context, r Request, onDelta func(Delta)) (Reply, error) {
	var lost *Usage
	for attempt := 1; ; attempt++ {
		reply, err := p.Client.Send(ctx, r, onDelta)
		if err == nil {
			reply.Lost = sum(reply.Lost, lost)
			return reply, nil
		}
		fault, ok := errors.AsType[*Fault](err)
		if !ok {
			return Reply{}, err
		}
		lost = sum(lost, fault.Usage)
		wait, again := p.pause(fault, attempt)
		if !again {
			last := *fault // do not change the client's fault
			last.Usage = lost
			return Reply{}, &last
		}
		if p.OnPause != nil {
			p.OnPause(Pause{Fault: fault, Attempt: attempt, Wait: wait})
		}
		if err := p.sleep(ctx, wait); err != nil {
			return Reply{}, err
		}
	}
}

// pause returns how long to wait after an attempt, and whether to ask again at all.
func (p *Retrier) pause(f *Fault, attempt int) (wait time.Duration, again bool) {
	if attempt > len(pauses) || f.Quota || f.Kind != FaultProvider && f.Kind != FaultLimit {
		return 0, false
	}
	usual := pauses[attempt-1]
	usual -= time.Duration(p.random() * float64(usual/4))
	asked := f.RetryAfter
	switch {
	case asked == 0:
		return usual, true
	case f.Kind == FaultLimit && asked > longestPause:
		return 0, false
	case f.Kind == FaultProvider:
		return max(usual, min(asked, longestPause)), true
	}
	return asked + time.Duration(p.random()*float64(asked/10)), true // never earlier than requested
}

func (p *Retrier) random() float64 {
	if p.Random != nil {
		return p.Random()
	}
	return rand.Float64()
}

func (p *Retrier) sleep(ctx context.Context, d time.Duration) error {
	if p.Sleep != nil {
		return p.Sleep(ctx, d)
	}
	pause, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-pause.Done()
	return ctx.Err()
}

// sum adds two usages; nil means unknown.
func sum(a, b *Usage) *Usage {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &Usage{
		Input: a.Input + b.Input, Output: a.Output + b.Output, CacheRead: a.CacheRead + b.CacheRead,
		CacheWrite: a.CacheWrite + b.CacheWrite,
	}
}
