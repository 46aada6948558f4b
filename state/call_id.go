package state

import "encoding/binary"

// CallID numbers the calls of a store in the order in which they began, from 1. 0 is not a call.
type CallID uint64

func (id CallID) key() []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }
