package kernel

import "sync"

// lentBuffers holds memory of parts that were released: new memory takes the system longer than to fill it.
var lentBuffers sync.Pool

func lentBuffer(size int64) []byte {
	if b, ok := lentBuffers.Get().(*[]byte); ok && int64(cap(*b)) >= size {
		return (*b)[:size]
	}
	return make([]byte, size, max(size, 2<<20)) // the pool has one size
}

// Release takes back the data of a part.
func (p *Part) Release() {
	if p.Data != nil {
		data := p.Data
		p.Data = nil
		lentBuffers.Put(&data)
	}
}
