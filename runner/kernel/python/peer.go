package python

import "github.com/xstate-engine/xstate/runner/kernel"

// PeerConfig is what a program needs that another tool runs, to be compared with a Baseline.
type PeerConfig struct {
	Kernel  string   // the folder to import xstate_kernel from: its module baseline seeds generators and digests values
	Environ []string // the process's, as a Baseline has it
}

// Peer makes one. scratch is where the driver is written when the user's cache cannot be.
func Peer(scratch string, environ []string) (PeerConfig, error) {
	folder, err := installDriver(scratch)
	return PeerConfig{Kernel: folder, Environ: kernel.EnvironLines(kernel.Environ(environ))}, err
}
