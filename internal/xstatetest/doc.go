// Package xstatetest holds what tests of several packages need: sessions in temporary folders, the sessions of
// testdata, and programs with a history to ask about. Only tests import it.
package xstatetest
