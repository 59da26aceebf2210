package process

// Ancestor is this process or one that it descends from.
type Ancestor struct {
	PID    int
	Name   string // of its program; "" if it may not be read
	Marker string // see Spec.Marker; "" if it has none or may not be read
	// Terminal is true for the first process of a terminal, such as the shell in a window, and where that is unknown.
	Terminal bool
}

// Name returns the name of a process's program; "" if it may not be read.
func Name(pid int) string { return nameOf(pid) }

// Ancestors returns this process and the processes that it descends from, nearest first. A process of a tree finds its
// harness among them, even in a new session and with an empty environment: see [OwnOrphans].
func Ancestors() []Ancestor {
	var all []Ancestor
	for _, pid := range lineage() {
		all = append(all, Ancestor{PID: pid, Name: nameOf(pid), Marker: markerOf(pid), Terminal: leadsTerminal(pid)})
	}
	return all
}
