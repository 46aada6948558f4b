package kernel

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listens reports whether a process has a port: it listens with TCP, or has an address with UDP. A process that has no
// socket but the one for calls, whose inode is own, has none: the tables of all sockets take Linux up to ten
// milliseconds to list, and each call of a server asks.
func listens(pid int, own uint64) bool {
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	sockets := map[string]bool{} // by inode
	open, _ := os.ReadDir(filepath.Join(folder, "fd"))
	for _, f := range open {
		target, _ := os.Readlink(filepath.Join(folder, "fd", f.Name()))
		if inode, is := strings.CutPrefix(target, "socket:["); is {
			sockets[strings.TrimSuffix(inode, "]")] = true
		}
	}
	delete(sockets, strconv.FormatUint(own, 10))
	const listening, bound = "0A", "07" // TCP's, UDP's
	for name, state := range map[string]string{"tcp": listening, "tcp6": listening, "udp": bound, "udp6": bound} {
		if len(sockets) > 0 && listed(filepath.Join(folder, "net", name), state, sockets) {
			return true
		}
	}
	return false
}

// listed reports whether a table of sockets (proc(5)) has one of the inodes in a state.
func listed(path, state string, inodes map[string]bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// sl local_address rem_address st queues timer retransmits uid timeout inode
		if fields := strings.Fields(lines.Text()); len(fields) > 9 && fields[3] == state && inodes[fields[9]] {
			return true
		}
	}
	return false
}
