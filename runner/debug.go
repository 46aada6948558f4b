package runner

import (
	"fmt"
	"os"
	"strings"

	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox"
)

// debugLevel returns the level of observation that XSTATE_DEBUG names, or level if it names none. It is read at each
// start of an interpreter, so that one process can compare levels.
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
	if kernel.Debugged("key") {
		fmt.Fprintf(os.Stderr, "xstate: key of %s\n%s", what, text)
	}
}

func debugf(word, format string, args ...any) {
	if kernel.Debugged(word) {
		fmt.Fprintf(os.Stderr, "xstate: "+format+"\n", args...)
	}
}
