package probe

// State is what became of one aspect.
type State string

// What can become of an aspect.
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

// Report is what a probe found out.
type Report struct {
	Stream     Aspect `json:"stream_shape"`
	Tag        Aspect `json:"tag_round_trip"`
	Permission Aspect `json:"permission_flag"`
	Isolation  Aspect `json:"session_isolation"`

	// Settled says that asking again would give the same: the probe was not cut short.
	Settled bool `json:"-"`
}

// Named is an aspect with the name that people know it by.
type Named struct {
	Name string
	Aspect
}

// Aspects lists the aspects in the order in which they are told.
func (r Report) Aspects() []Named {
	return []Named{
		{"stream shape", r.Stream}, {"tag round trip", r.Tag}, {"permission flag", r.Permission}, {"session isolation", r.Isolation},
	}
}

// State is the worst of the aspects: one that failed counts more than one that is unknown.
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
