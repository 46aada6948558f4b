package sandbox

// SystemFolders hold what is installed. Every program may read them, and what it only reads there are tools, not data.
var SystemFolders = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/var/lib", "/nix", "/snap",
}
