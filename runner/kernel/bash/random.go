package bash

import (
	"strconv"

	"github.com/xstate-engine/xstate/runner/kernel"
)

// The state of the generator of RANDOM cannot be asked for, but it can be found: it is one of those that follow from
// the last state that is known, and the next four numbers identify it. To set RANDOM to it brings the generator there.

// mostDraws bounds how far a state is looked for.
const mostDraws = 200_000

// step returns the next state of Bash's generator.
func step(seed int) int {
	if seed == 0 {
		seed = 123459876
	}
	high, low := seed/127773, seed%127773
	if next := 16807*low - 2836*high; next >= 0 {
		return next
	} else {
		return next + 0x7fffffff
	}
}

// number returns what RANDOM is in a state. From 5.1 on the halves of the state are mixed.
func (i Interpreter) number(seed int) int {
	if i.Major > 5 || i.Major == 5 && i.Minor >= 1 {
		return (seed>>16 ^ seed&65535) & 32767
	}
	return seed & 32767
}

// locate returns the state before four numbers were drawn; ok is false where no state leads there.
func (i Interpreter) locate(from int, numbers []int) (state int, ok bool) {
	for range mostDraws {
		at, last := from, -1
		matches := true
		for _, n := range numbers {
			at = step(at)
			for i.number(at) == last {
				at = step(at)
			}
			if last = i.number(at); last != n {
				matches = false
				break
			}
		}
		if matches {
			return from, true
		}
		from = step(from)
	}
	return 0, false
}

// drawn finds the state of the generator after a node.
func (sh *shell) drawn(seen *kernel.Observation, u *uses, before, after *snapshot) {
	from := append([]int{}, sh.random...)
	for _, text := range u.seeds {
		if n, err := strconv.ParseInt(text, 0, 64); err == nil {
			from = append([]int{int(uint32(n))}, from...)
		}
	}
	for _, vars := range []map[string]declaration{after.vars, before.vars} {
		for name := range u.names {
			if text, is := vars[name].scalar(); is && len(u.seeds) > 0 {
				if n, err := strconv.ParseInt(text, 0, 64); err == nil {
					from = append(from, int(uint32(n)))
				}
			}
		}
	}
	var numbers []int
	for _, text := range after.draws {
		n, _ := strconv.Atoi(text)
		numbers = append(numbers, n)
	}
	for _, seed := range from {
		if state, ok := sh.interpreter.locate(seed, numbers); ok && len(numbers) == 4 {
			sh.random = []int{state}
			after.put(keyRandom, "RANDOM="+strconv.Itoa(state))
			sh.pending = append(sh.pending, "RANDOM="+strconv.Itoa(state))
			return
		}
	}
	sh.random = nil
	sh.busy = true
	seen.Marks = append(seen.Marks, "entropy")
	seen.Modules = []string{"process"}
}
