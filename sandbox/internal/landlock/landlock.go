package landlock

// Name is the first argument of the process that restricts itself.
const Name = "ralph-landlock"

// Self is the path at which a process finds its own program.
const Self = "/proc/self/exe"

// NeededABI is the version of the kernel's rules that all promises need. Version 6 keeps signals and
// abstract sockets inside.
const NeededABI = 6

// SetupFailed is the exit status if the rules could not be made, so that the program was not started.
const SetupFailed = 125

// Complaint begins the line that says why.
const Complaint = "ralph: sandbox: "
