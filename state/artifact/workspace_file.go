package artifact

import "github.com/xstate-engine/xstate/runner/beneath"

// readIn returns the content of a regular file of a workspace. A program may have put a link or a pipe in its place: no
// link is followed.
func readIn(workspace, name string) ([]byte, error) {
	in, err := beneath.Open(workspace)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return in.ReadFile(name)
}
