package keeper

// Name is argument zero of a keeper. The number of the descriptor of the control socket is argument one.
const Name = "xstate-keeper"

// Setup says what the keeper starts.
type Setup struct {
	Path string   // of the program; absolute
	Args []string // with argument zero
	Env  []string
	Dir  string
	// Files is the number of descriptors that the program inherits: 0, 1, 2, and those after.
	Files int
	// Group makes the program the first of a process group of its own.
	Group bool
	// Filter is the seccomp filter, eight bytes an instruction as in struct sock_filter; none: no filter.
	Filter []byte
	// Listen asks for the listener of the filter.
	Listen bool
	// Trace asks for the socket of a tracer in the place of the listener.
	Trace bool
	// Probe ends the keeper where it would start the program.
	Probe bool
	// Bounds are what Restrict puts on the thread that starts the program.
	Bounds []byte
}

// Reply answers a Setup, and a second one says that the interpreter runs.
type Reply struct {
	Pid   int    // of the interpreter
	Step  string // what failed
	Errno int
	// Tracer is the process that traces the box; 0: none.
	Tracer int
	// Killable says that a call that waits for the supervisor can be interrupted by fatal signals only.
	Killable bool
}
