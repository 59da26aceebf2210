package process

// Session names the processes of a live session of another program.
type Session struct {
	PID     int      // of the program; 0 if it is not known
	Entries []string // NAME=value, each in the environment of what the program started; one of them is enough
}
