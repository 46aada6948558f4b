package sandbox

// Without takes something away from what the system offers, until it is called with nil.
func Without(change func(*Offers)) {
	offersNow = func() Offers {
		o := Offered()
		if change != nil {
			change(&o)
		}
		return o
	}
}
