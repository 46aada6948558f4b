package state

// Denial is something that a program tried and that its bounds forbade.
type Denial struct {
	// Action is "read", "write", "execute", "connect", the name of a system call, or a limit such as "memory". Target
	// is the path, address or amount.
	Action string `cbor:"action" json:"action"`
	Target string `cbor:"target,omitempty" json:"target,omitempty"`
	// Rule is the line of a policy file that would allow it; "" where none would.
	Rule string `cbor:"rule,omitempty" json:"rule,omitempty"`
}

// String names what was denied: "write /etc/hosts".
func (d Denial) String() string {
	if d.Target == "" {
		return d.Action
	}
	return d.Action + " " + d.Target
}
