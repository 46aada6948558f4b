// Package kerneltest is the conformance suite of package kernel: sessions that the kernels of any language must pass.
//
// A Subject is a language with the texts, written in it, that the sessions execute. Run executes the sessions, each as
// a separate test. A session fails when a kernel breaks the contract that the documentation of package kernel states.
//
// The suite sees what passes between engine and kernel, and nothing of either. It cannot see that a kernel leaves out a
// read: sessions of whole programs, which are compared with a run from scratch, look for that.
package kerneltest
