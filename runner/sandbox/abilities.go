package sandbox

// Abilities are what this system offers to observe and to bound programs.
type Abilities struct {
	Observe Level  `json:"observe"`       // the best level of observation
	Why     string `json:"why,omitempty"` // why not a better one; "" at LevelCalls

	Landlock   int    `json:"landlock"`            // version of Landlock; 0: there is none
	Filter     bool   `json:"filter"`              // filters on system calls
	Namespaces bool   `json:"namespaces"`          // of mounts and of the network, for this user
	NoSpaces   string `json:"no_spaces,omitempty"` // why there are none
	PidfdGetfd bool   `json:"pidfd_getfd"`         // descriptors of another process can be taken
	Bwrap      string `json:"bwrap,omitempty"`     // its path
	Root       bool   `json:"root"`                // the user is root: limits of a user's processes do not count
}
