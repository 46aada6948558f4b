package state

// StepNumber counts the steps of a session from 1. 0 is the empty session before the first step.
type StepNumber uint64
