package runner

import "math/bits"

// lists holds many short lists of numbers in one array. A slice for each would take 24 bytes beside its content. A list
// has room for the next power of two. The room of a list that has grown, or was dropped, goes to the next of that size.
type lists struct {
	data []uint32
	free [32][]uint32 // by the logarithm of the room: where such room begins
}

// list is one of lists. The zero value is empty.
type list struct{ at, n uint32 }

// room returns the logarithm of the room that n numbers have; n is not 0.
func room(n uint32) int { return bits.Len32(n - 1) }

func (l *lists) of(x list) []uint32 { return l.data[x.at : x.at+x.n : x.at+x.n] }

// sized returns a list of n numbers in place of x. It begins with the numbers of x.
func (l *lists) sized(x list, n uint32) list {
	if x.n > 0 && n > 0 && room(x.n) == room(n) {
		return list{x.at, n}
	}
	next := list{n: n}
	if n > 0 {
		next.at = l.alloc(room(n))
		copy(l.of(next), l.of(x))
	}
	if x.n > 0 {
		l.free[room(x.n)] = append(l.free[room(x.n)], x.at)
	}
	return next
}

func (l *lists) alloc(class int) uint32 {
	if free := l.free[class]; len(free) > 0 {
		l.free[class] = free[:len(free)-1]
		return free[len(free)-1]
	}
	at, need := len(l.data), 1<<class
	if at+need > cap(l.data) {
		grown := make([]uint32, at, at+at/4+need+64)
		copy(grown, l.data)
		l.data = grown
	}
	l.data = l.data[:at+need]
	return uint32(at)
}

func (l *lists) set(x list, all []uint32) list {
	x = l.sized(x, uint32(len(all)))
	copy(l.of(x), all)
	return x
}

func (l *lists) insert(x list, i int, v uint32) list {
	x = l.sized(x, x.n+1)
	all := l.of(x)
	copy(all[i+1:], all[i:])
	all[i] = v
	return x
}

func (l *lists) remove(x list, i int) list {
	all := l.of(x)
	copy(all[i:], all[i+1:])
	return l.sized(x, x.n-1)
}
