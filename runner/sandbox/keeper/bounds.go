package keeper

// Bounds are what restrict puts on the thread that starts the program. The engine works out everything beforehand: what
// runs between here and the program shall be short.
type Bounds struct {
	// Ruleset is the number of the descriptor of the Landlock ruleset; 0: none.
	Ruleset int
	// Back is the number of the descriptor of the socket on which the listener for the proxy is sent; 0: none.
	Back int
	// Namespaces gives the program its own view of the folders, network and interprocess communication.
	Namespaces bool
	// Writable are folders and files that stay writable in the program's view, parents first.
	Writable []string
	// Frozen are files and folders in Writable that are only readable in the program's view.
	Frozen []string
	// Covered are files and folders that are empty in the program's view.
	Covered []Cover
	// Processes hides processes outside of the box from /proc.
	Processes bool
	// Address is where a listener for the proxy is made inside of the namespace, as four bytes and a port.
	Address [4]byte
	Port    int
	// Capabilities are kept, as bits. All others are given up for good.
	Capabilities uint64
}

// Cover is a path behind which nothing is seen but the folders Inside, which lie below it.
type Cover struct {
	Path   string
	File   bool // the path is a file
	Inside []string
}
