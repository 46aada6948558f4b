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

// Lack is a part of some bounds that this system cannot enforce.
type Lack struct {
	Field   string `json:"field"`             // of a policy file, such as "network.hosts"; or "files", "network"
	Why     string `json:"why"`               // what is missing
	Instead string `json:"instead,omitempty"` // what would work
}

// Lacks returns the parts of b that this system cannot enforce.
func Lacks(b *Bounds) []Lack { return Probe().Lacks(b) }

// Lacks returns the parts of b that a system of these abilities cannot enforce.
func (a Abilities) Lacks(b *Bounds) (lacks []Lack) {
	add := func(field, why, instead string) { lacks = append(lacks, Lack{field, why, instead}) }
	if a.Landlock == 0 {
		add("files", "it has no Landlock, which keeps a program to its files", "Linux 5.13 and later have it")
	}
	if !a.Namespaces && len(b.Deny) > 0 {
		add("files.deny", "to take a file out of a folder that is allowed needs namespaces: "+a.NoSpaces,
			"move the file out of the folder")
	}
	if !a.Filter && !a.Namespaces {
		add("network", "it has neither network namespaces nor filters on system calls", "")
	}
	if b.Launcher == "bwrap" && a.Bwrap == "" {
		add("sandbox.launcher", "there is no bwrap on the path", "install bubblewrap, or leave the launcher out")
	}
	return lacks
}
