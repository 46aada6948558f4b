// Package statetest opens stores in tests and checks every invariant of them when the test ends.
package statetest
