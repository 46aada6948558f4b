// Package await lets a test wait for an event. Its deadline ends a test that hangs, and judges nothing: a loaded
// machine takes as long as it takes.
package await
