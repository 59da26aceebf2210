package judge

import (
	"context"
	"time"
)

type Judge struct {
	a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u int
}

func (j *Judge) now(context.Context) time.Time { return time.Now() }

type Data struct {
	a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u int
}

func (d Data) sum() int { return d.a }
