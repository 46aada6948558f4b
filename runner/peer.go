package runner

// PeerConfig is what a program needs that is run by another tool than this kernel, and compared with a Plain.
type PeerConfig struct {
	Kernel  string   // the folder to import the package xstate_kernel from, whose module baseline seeds generators and digests values
	Environ []string // of the process, as a Plain has it
}

// Peer makes one. scratch is where the kernel package is written when the user's cache cannot be.
func Peer(scratch string, environ []string) (PeerConfig, error) {
	folder, err := installDriver(scratch)
	return PeerConfig{Kernel: folder, Environ: environList(environOfProgram(environ))}, err
}
