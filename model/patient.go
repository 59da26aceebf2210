package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Patient is a client that waits and asks again where that may help. The request stays the same.
//
// Faults of the provider are waited out with pauses that grow. Limits are, too, if what the provider asks for is at most a minute; longer ones and used-up quotas are
// returned at once, as is every other fault: whoever called knows what a run may spend, and when it has to end.
//
// What failed attempts used is paid for. It is told three times, to be counted once: with each [Pause], in the reply's Lost, and as a part of the usage of the fault
// that is returned. If ctx ends, only the pauses have told it.
type Patient struct {
	Client Client
	// Told is told before each pause, on Send's goroutine. It may be nil.
	Told func(Pause)
	// Sleep waits, and gives ctx's error if that ends before. Nil is a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Random gives numbers from 0 up to 1, which spread the pauses of many clients. Nil is a generator.
	Random func() float64
}

// Patiently is a client that waits and tells of it. One that waits already does not wait twice as long: it tells told as well, as whom it told before.
func Patiently(c Client, told func(Pause)) *Patient {
	own, ok := c.(*Patient)
	if !ok {
		return &Patient{Client: c, Told: told}
	}
	p, before := *own, own.Told
	p.Told = func(pause Pause) {
		if before != nil {
			before(pause)
		}
		told(pause)
	}
	return &p
}

// Pause is a wait between two attempts.
type Pause struct {
	Fault   *Fault // why, with what was used for nothing
	Attempt int    // that failed, from 1
	Wait    time.Duration
}

// longestPause is how long a client waits at most before it asks again.
const longestPause = time.Minute

// pauses are the waits after each failed attempt. After the attempt behind the last one it is enough.
var pauses = []time.Duration{
	2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, longestPause, longestPause,
}

// Send asks until there is a reply, a fault that does not pass, or enough.
func (p *Patient) Send(ctx context.Context, r Request, tell func(Delta)) (Reply, error) {
	var lost *Usage
	for attempt := 1; ; attempt++ {
		reply, err := p.Client.Send(ctx, r, tell)
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
			last := *fault // the client's own stays as it is
			last.Usage = lost
			return Reply{}, &last
		}
		if p.Told != nil {
			p.Told(Pause{Fault: fault, Attempt: attempt, Wait: wait})
		}
		if err := p.sleep(ctx, wait); err != nil {
			return Reply{}, err
		}
	}
}

// pause says how long to wait after an attempt, and whether to ask again at all.
func (p *Patient) pause(f *Fault, attempt int) (wait time.Duration, again bool) {
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
	return asked + time.Duration(p.random()*float64(asked/10)), true // never before the time that was asked for
}

func (p *Patient) random() float64 {
	if p.Random != nil {
		return p.Random()
	}
	return rand.Float64()
}

func (p *Patient) sleep(ctx context.Context, d time.Duration) error {
	if p.Sleep != nil {
		return p.Sleep(ctx, d)
	}
	pause, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-pause.Done()
	return ctx.Err()
}

// sum adds what is known; nil if neither is.
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
