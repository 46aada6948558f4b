package output

import (
	"fmt"
	"slices"
)

// Limit is how much of the output of one node is kept, in bytes: text and display data together. A node is a
// statement at the top level of a block.
const Limit = 16 << 20

// Output is one thing that a node printed or displayed. A node has a list of them, in order.
//
// Two kinds are about other outputs. An update replaces the data of the displays with its ID. A clear removes what its
// block put out before it. Join carries out both; an update remains if the display is another block's. A comm is a
// message of Jupyter to the page about a widget: its data has one element, the type of the message and its content.
type Output struct {
	Kind string            `json:"kind"` // stdout, stderr, display, result, update, clear or comm
	Text string            `json:"text,omitempty"`
	Data map[string]string `json:"data,omitempty"`       // media type → text, images in base64; of all but text
	Meta map[string]string `json:"metadata,omitempty"`   // key, such as a media type → JSON; of all but text
	ID   string            `json:"display_id,omitempty"` // of display and update
	Wait bool              `json:"wait,omitempty"`       // of clear: only when the next output comes
	// Dropped is how much of this output, or after it of this kind, was dropped beyond Limit, in bytes.
	Dropped int64 `json:"dropped,omitempty"`
}

// Visible returns the outputs that a block shows itself: all but updates of what other blocks show, and messages about
// widgets.
func Visible(outputs []Output) []Output {
	return slices.DeleteFunc(slices.Clone(outputs), func(o Output) bool {
		return o.Kind == "update" || o.Kind == "clear" || o.Kind == "comm"
	})
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
