package probe

// State is the result of one aspect.
type State string

// The results of an aspect.
const (
	OK      State = "ok"
	Failed  State = "failed"
	Unknown State = "unknown"
)

// Aspect is one thing that a run relies on.
type Aspect struct {
	State  State  `json:"state"`
	Detail string `json:"detail,omitempty"`
}

// Report is the result of a probe.
type Report struct {
	Stream     Aspect `json:"stream_shape"`
	Tag        Aspect `json:"tag_round_trip"`
	Permission Aspect `json:"permission_flag"`
	Isolation  Aspect `json:"session_isolation"`

	// Settled means that probing again would give the same result: the probe was not interrupted.
	Settled bool `json:"-"`
}

// Named is an aspect with its display name.
type Named struct {
	Name string
	Aspect
}

// Aspects lists the aspects in display order.
func (r Report) Aspects() []Named {
	return []Named{
		{"stream shape", r.Stream}, {"tag round trip", r.Tag}, {"permission flag", r.Permission},
		{"session isolation", r.Isolation},
	}
}

// State returns the worst state of the aspects: failed outranks unknown.
func (r Report) State() State {
	worst := OK
	for _, a := range r.Aspects() {
		switch {
		case a.State == Failed:
			return Failed
		case a.State != OK:
			worst = Unknown
		}
	}
	return worst
}
