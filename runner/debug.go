package runner

import (
	"fmt"
	"os"
	"strings"
)

// debug holds the words of XSTATE_DEBUG, separated by commas: "key" prints the text that is hashed into keys, "kernel"
// prints requests to the kernel.
var debug = func() map[string]bool {
	on := map[string]bool{}
	for word := range strings.SplitSeq(os.Getenv("XSTATE_DEBUG"), ",") {
		on[word] = true
	}
	return on
}()

func debugKey(what, text string) {
	if debug["key"] {
		fmt.Fprintf(os.Stderr, "xstate: key of %s\n%s", what, text)
	}
}

func debugf(word, format string, args ...any) {
	if debug[word] {
		fmt.Fprintf(os.Stderr, "xstate: "+format+"\n", args...)
	}
}
