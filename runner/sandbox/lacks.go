package sandbox

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
