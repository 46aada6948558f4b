package bash

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/runner/kernel"
)

// mayReadInput reports whether a node may read the standard input. If the input was not at its end, its position says
// whether the node did; at the end nothing does.
func (u *uses) mayReadInput() bool {
	return u.programs || u.exported || u.everything || u.input || u.anyFd || u.wholeInput
}

// inputBefore is the position in the standard input before a node.
func (s *session) inputBefore() int64 {
	at, _ := strconv.ParseInt(s.live.hidden[keyInput], 10, 64)
	return at
}

// readsInput notes what the node read of the standard input. after is nil when the shell ended: then it may have read
// all of it.
func (sh *shell) readsInput(seen *kernel.Observation, u *uses, after *snapshot) {
	var size int64
	if info, err := os.Stat(sh.launch.Stdin); err == nil {
		size = info.Size()
	}
	from := sh.inputBefore()
	upto := from
	if after != nil {
		upto = sh.inputPosition(from)
		after.hidden[keyInput] = strconv.FormatInt(upto, 10)
		if upto == 0 {
			delete(after.hidden, keyInput)
		}
	}
	if upto == from && !u.mayReadInput() {
		return
	}
	u.keys[keyInput] = true
	switch {
	case u.wholeInput || after == nil || upto < from:
		seen.Stdin = &kernel.Input{Upto: size, Ended: true}
	case upto > from || from >= size:
		seen.Stdin = &kernel.Input{From: from, Upto: min(upto, size), Ended: upto >= size}
	}
}

// inputPosition returns the position of descriptor 0 in the standard input, or before if it leads elsewhere.
func (sh *shell) inputPosition(before int64) int64 {
	if sh.launch.Stdin == "" {
		return 0
	}
	proc := fmt.Sprintf("/proc/%d/", sh.peer.Pid())
	open, err := os.Stat(proc + "fd/0")
	if err != nil {
		return before
	}
	if given, err := os.Stat(sh.launch.Stdin); err != nil || !os.SameFile(open, given) {
		return before
	}
	data, _ := os.ReadFile(proc + "fdinfo/0")
	_, text, _ := strings.Cut(string(data), "pos:")
	at := before
	_, _ = fmt.Sscanf(text, "%d", &at)
	return at
}
