package keeper

import "strconv"

// Name is argument zero of a keeper. The number of the descriptor of the control socket is argument one.
const Name = "xstate-keeper"

// Processors is a variable in the environment of a keeper. One of its threads waits in a call that the supervisor has
// to answer, and another must run meanwhile, also on a machine with one processor.
const Processors = "GOMAXPROCS=4"

// Thread represents the keeper's filtered thread in a filter: its number is unknown before it runs.
const Thread = 0x7e3a91c5

// Setup says what the keeper starts.
type Setup struct {
	Path string   // the program's; absolute
	Args []string // with argument zero
	Env  []string
	Dir  string
	// Files is the number of descriptors that the program inherits: 0, 1, 2, and those after.
	Files int
	// Group makes the program the first of a new process group.
	Group bool
	// Filter is the seccomp filter, eight bytes an instruction as in struct sock_filter; none: no filter.
	Filter []byte
	// Listen asks for the listener of the filter.
	Listen bool
	// Trace asks for the socket of a tracer in the place of the listener.
	Trace bool
	// Probe ends the keeper instead of starting the program.
	Probe bool
	// Bounds are what the keeper puts on the thread that starts the program.
	Bounds []byte
}

// Reply answers a Setup, and a second one says that the interpreter runs.
type Reply struct {
	Pid   int    // the interpreter's
	Step  string // what failed
	Errno int
	// Tracer is the process that traces the box; 0: none.
	Tracer int
	// Killable says that a call that waits for the supervisor can be interrupted by fatal signals only.
	Killable bool
}

// A message is its length, in four bytes, and a list of fields; a field is its length, in decimal digits, a colon, and
// its bytes. Package encoding/json would make this package wait for many others, see doc.go.

// framed puts the length before a message.
func framed(m []byte) []byte {
	n := len(m)
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}, m...)
}

func length(m []byte) int { return int(m[0]) | int(m[1])<<8 | int(m[2])<<16 | int(m[3])<<24 }

// Encode puts a setup in a message.
func (s *Setup) Encode() []byte {
	m := field(nil, s.Path, s.Dir, strconv.Itoa(s.Files), strconv.FormatBool(s.Group), string(s.Filter),
		strconv.FormatBool(s.Listen), strconv.FormatBool(s.Probe), string(s.Bounds),
		strconv.FormatBool(s.Trace), strconv.Itoa(len(s.Args)))
	m = field(m, s.Args...)
	return framed(field(m, s.Env...))
}

func (s *Setup) decode(message []byte) bool {
	fields, ok := split(message)
	if !ok || len(fields) < 10 {
		return false
	}
	s.Path, s.Dir, s.Files = fields[0], fields[1], number(fields[2])
	s.Group, s.Filter, s.Listen = fields[3] == "true", []byte(fields[4]), fields[5] == "true"
	s.Probe, s.Bounds = fields[6] == "true", []byte(fields[7])
	s.Trace = fields[8] == "true"
	n := number(fields[9])
	if n < 0 || n > len(fields)-10 {
		return false
	}
	s.Args, s.Env = fields[10:10+n], fields[10+n:]
	return true
}

func (r *Reply) encode() []byte {
	return field(nil, strconv.Itoa(r.Pid), r.Step, strconv.Itoa(r.Errno), strconv.FormatBool(r.Killable),
		strconv.Itoa(r.Tracer))
}

// Decode reads a reply from the begin of data, and returns what is behind it. It is false if there is none, and the
// rest is data if more must come.
func (r *Reply) Decode(data []byte) (rest []byte, ok bool) {
	if len(data) < 4 || len(data) < 4+length(data) {
		return data, false
	}
	end := 4 + length(data)
	fields, ok := split(data[4:end])
	if !ok || len(fields) != 5 {
		return nil, false
	}
	*r = Reply{
		Pid: number(fields[0]), Step: fields[1], Errno: number(fields[2]), Killable: fields[3] == "true",
		Tracer: number(fields[4]),
	}
	return data[end:], true
}

func field(m []byte, texts ...string) []byte {
	for _, text := range texts {
		m = append(append(strconv.AppendInt(m, int64(len(text)), 10), ':'), text...)
	}
	return m
}

func split(m []byte) (fields []string, ok bool) {
	for len(m) > 0 {
		n, i := 0, 0
		for ; i < len(m) && m[i] >= '0' && m[i] <= '9'; i++ {
			n = 10*n + int(m[i]-'0')
		}
		if i == len(m) || m[i] != ':' || n > len(m)-i-1 {
			return nil, false
		}
		fields, m = append(fields, string(m[i+1:i+1+n])), m[i+1+n:]
	}
	return fields, true
}

// number reads a number; -1: it is none.
func number(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return -1
}
