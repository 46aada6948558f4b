package basestate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xstate-engine/xstate/state"
)

// Digests of parts of the standard input that do not match their key: the input ends before the part does, or continues
// after a part that was its end.
const (
	inputShort state.Digest = "ends before"
	inputLong  state.Digest = "goes on"
)

// argumentsDigest digests the arguments of the program, absent if there are none.
func argumentsDigest(arguments []string) state.Digest {
	if len(arguments) == 0 {
		return state.Absent
	}
	return state.DigestOf(fmt.Appendf(nil, "arguments %q", arguments))
}

// InputName names the bytes of the standard input from one position up to another. ended says that a node that looked
// at them met the end there.
func InputName(from, upto int64, ended bool) string {
	if ended {
		return fmt.Sprintf("%d-%d$", from, upto)
	}
	return fmt.Sprintf("%d-%d", from, upto)
}

// inputDigest digests the part of the standard input that a key names, see InputName. So a node that read a part is not
// affected by a change of what follows.
func inputDigest(content []byte, name string) state.Digest {
	part, ended := strings.CutSuffix(name, "$")
	first, last, _ := strings.Cut(part, "-")
	from, err := strconv.Atoi(first)
	upto, bad := strconv.Atoi(last)
	switch {
	case err != nil || bad != nil || from > upto || upto > len(content):
		return inputShort
	case ended && upto < len(content):
		return inputLong
	}
	return state.DigestOf(content[from:upto])
}
