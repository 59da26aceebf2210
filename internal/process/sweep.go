package process

// Dead is a harness that died, perhaps without killing its trees.
type Dead struct {
	// Marker is the Spec.Marker of its trees.
	Marker string
	// Marks reports whether a marker is one of its trees; nil means that only Marker is.
	Marks func(marker string) bool
	// Record is the file that KeepRecord wrote; it may be missing.
	Record string

	orphans bool  // also everything else that this process has below it
	keep    []int // not these, nor what is below them
}

// Leftover is a process that outlived its harness.
type Leftover struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
}
