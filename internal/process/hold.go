package process

// Session names the processes of a live session of another program.
type Session struct {
	PID     int      // of the program; 0 if it is not known
	Entries []string // NAME=value, each in the environment of what the program started; one of them is enough
	// IsHook reports whether a command of a shell does nothing but call this program; nil if none is known. A shell that
	// the session's program started for such a command is not stopped, so that a hook can answer at any time.
	IsHook func(command string) bool
}
