package keeper

// restrict puts the bounds on the thread that starts the interpreter, before its filter.
func restrict(*Setup) error { return nil }
