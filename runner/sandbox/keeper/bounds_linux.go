package keeper

import "strconv"

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
	// ReadRights and DeviceRights are the rights of Landlock that the new view of the processes has, and the new
	// terminals: no rule of the engine is about files that are made here.
	ReadRights, DeviceRights uint64
	// Address is where a listener for the proxy is made inside of the namespace, as four bytes and a port.
	Address [4]byte
	Port    int
	// Limits are limits of each process, by resource.
	Limits map[int]uint64
	// Capabilities are kept, as bits. All others are given up for good.
	Capabilities uint64
}

// Cover is a path behind which nothing is seen but the folders Inside, which lie below it.
type Cover struct {
	Path   string
	File   bool // the path is a file
	Inside []string
}

// Encode puts bounds in the form in which a Setup has them.
func (b *Bounds) Encode() []byte {
	m := field(nil, strconv.Itoa(b.Ruleset), strconv.Itoa(b.Back), strconv.FormatBool(b.Namespaces),
		strconv.FormatBool(b.Processes), string(b.Address[:]), strconv.Itoa(b.Port),
		strconv.FormatUint(b.Capabilities, 16), strconv.FormatUint(b.ReadRights, 16),
		strconv.FormatUint(b.DeviceRights, 16))
	m = field(m, strconv.Itoa(len(b.Limits)))
	for resource, most := range b.Limits {
		m = field(m, strconv.Itoa(resource), strconv.FormatUint(most, 16))
	}
	m = list(list(m, b.Writable), b.Frozen)
	m = field(m, strconv.Itoa(len(b.Covered)))
	for _, c := range b.Covered {
		m = list(field(m, c.Path, strconv.FormatBool(c.File)), c.Inside)
	}
	return m
}

// list puts the number of texts before them.
func list(m []byte, texts []string) []byte {
	return field(field(m, strconv.Itoa(len(texts))), texts...)
}

// reader takes one field of a message after the other. Missing fields are empty.
type reader []string

func (r *reader) text() string {
	if len(*r) == 0 {
		return ""
	}
	text := (*r)[0]
	*r = (*r)[1:]
	return text
}

func (r *reader) bits() uint64 {
	bits, _ := strconv.ParseUint(r.text(), 16, 64)
	return bits
}

func (r *reader) list() (texts []string) {
	for n := number(r.text()); n > 0; n-- {
		texts = append(texts, r.text())
	}
	return texts
}

func (b *Bounds) decode(message []byte) bool {
	fields, ok := split(message)
	if !ok || len(fields) < 13 {
		return false
	}
	r := reader(fields)
	b.Ruleset, b.Back, b.Namespaces = number(r.text()), number(r.text()), r.text() == "true"
	b.Processes = r.text() == "true"
	copy(b.Address[:], r.text())
	b.Port = number(r.text())
	b.Capabilities, b.ReadRights, b.DeviceRights = r.bits(), r.bits(), r.bits()
	b.Limits = map[int]uint64{}
	for n := number(r.text()); n > 0; n-- {
		b.Limits[number(r.text())] = r.bits()
	}
	b.Writable, b.Frozen = r.list(), r.list()
	for n := number(r.text()); n > 0; n-- {
		b.Covered = append(b.Covered, Cover{Path: r.text(), File: r.text() == "true", Inside: r.list()})
	}
	return true
}
