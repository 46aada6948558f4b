package runner

import (
	"fmt"
	"os"
	"strings"

	"github.com/xstate-engine/xstate/runner/sandbox"
)

// debug holds the words of XSTATE_DEBUG, separated by commas: "key" prints the text that is hashed into keys, "kernel"
// prints requests to the kernel. A name of a level of observation is for debugLevel.
var debug = func() map[string]bool {
	on := map[string]bool{}
	for word := range strings.SplitSeq(os.Getenv("XSTATE_DEBUG"), ",") {
		on[word] = true
	}
	return on
}()

// debugLevel returns the level of observation that XSTATE_DEBUG names, or level where it names none. So one process can
// compare levels: it is read at each start of an interpreter.
func debugLevel(level sandbox.Level) sandbox.Level {
	for word := range strings.SplitSeq(os.Getenv("XSTATE_DEBUG"), ",") {
		switch l := sandbox.Level(word); l {
		case sandbox.LevelCalls, sandbox.LevelTrace, sandbox.LevelHooks:
			return l
		}
	}
	return level
}

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
