package output

import "fmt"

// Limit is how much of the output of one node is kept, in bytes: text and display data together. A node is a
// statement at the top level of a block.
const Limit = 16 << 20

// Output is one thing that a node printed or displayed. A node has a list of them, in order.
type Output struct {
	Kind string            `json:"kind"` // stdout, stderr, display or result
	Text string            `json:"text,omitempty"`
	Data map[string]string `json:"data,omitempty"` // media type → text, images in base64; for display and result
	// Dropped is how much of this output, or after it of this kind, was dropped beyond Limit, in bytes.
	Dropped int64 `json:"dropped,omitempty"`
}

// Note says in one line what of the output was dropped; "" when nothing was.
func (o *Output) Note() string {
	if o.Dropped == 0 {
		return ""
	}
	return fmt.Sprintf("[xstate: %s more of %s are not kept: of what one statement puts out, %s are; "+
		"write more to a file]\n", megabytes(o.Dropped), o.Kind, megabytes(Limit))
}

// megabytes is a number of bytes for people.
func megabytes(n int64) string {
	if n < 1e5 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
