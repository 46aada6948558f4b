package sandbox

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"github.com/xstate-engine/xstate/internal/parents"
	"github.com/xstate-engine/xstate/runner/sandbox/keeper"
	"github.com/xstate-engine/xstate/runner/sandbox/proxy"
	"golang.org/x/sys/unix"
)

// The supervisor connects the sockets of a bounded program itself. If it let the call through, another thread could
// change the address, or put another socket in its place, after the decision. So it works on copies of both.

// connect decides about a call of connect(2), and makes it. The first bytes of address are its family.
func (s *supervisor) connect(c *call, address []byte) unix.Errno {
	fd, fail := takeSocket(c)
	if fail != 0 {
		return fail
	}
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		unix.Close(fd)
		return unix.ENOTSOCK
	}
	g := s.guard
	var denial *Denial
	held := -1
	after := func() {}
	switch to := binary.NativeEndian.Uint16(address); {
	case to == unix.AF_UNSPEC:
	case family == unix.AF_UNIX && to == unix.AF_UNIX:
		address, held, fail, denial = g.local(c, address)
	case family == unix.AF_INET || family == unix.AF_INET6:
		address, after, denial = g.internet(fd, address)
		if denial != nil {
			fail = unix.EACCES
		}
	}
	if fail != 0 {
		unix.Close(fd)
		s.denied(denial)
		return fail
	}
	work := func() unix.Errno {
		defer unix.Close(fd)
		if held >= 0 {
			defer unix.Close(held)
		}
		_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&address[0])),
			uintptr(len(address)))
		if errno == 0 || errno == unix.EINPROGRESS {
			after()
		}
		return errno
	}
	s.made = true
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil && flags&unix.O_NONBLOCK == 0 {
		s.later = work // it may take long
		return 0
	}
	fail = work()
	return fail
}

// takeSocket takes a copy of the socket in the first argument.
func takeSocket(c *call) (int, unix.Errno) {
	process, err := unix.PidfdOpen(groupOf(int(c.Tid)), 0)
	if err != nil {
		return -1, unix.EACCES
	}
	defer unix.Close(process)
	fd, err := unix.PidfdGetfd(process, int(int32(c.Args[0])), 0)
	switch err {
	case nil:
		return fd, 0
	case unix.EBADF:
		return -1, unix.EBADF
	}
	return -1, unix.EACCES
}

// local decides about a local socket. One with a path must be one that the box listens on, or that the bounds name. It
// returns an address that leads to this very file.
func (g *guard) local(c *call, address []byte) ([]byte, int, unix.Errno, *Denial) {
	if len(address) > 2 && address[2] == 0 || len(address) == 2 {
		if g.offers.Namespaces { // such names belong to the network namespace
			return address, -1, 0, nil
		}
		return nil, -1, unix.EACCES, &Denial{Action: "connect", Target: c.peer}
	}
	p := c.to.path
	if !c.to.ok {
		return nil, -1, unix.ENOENT, nil
	}
	held, err := unix.Open(p, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, -1, unix.ECONNREFUSED, nil
	}
	link := "/proc/self/fd/" + strconv.Itoa(held)
	var stat unix.Stat_t
	real, err := os.Readlink(link)
	if err == nil {
		err = unix.Fstat(held, &stat)
	}
	_, own := g.sockets[inode{stat.Dev, stat.Ino}]
	if err != nil || real != p || !own && !parents.AnyHolds(g.spec.Bounds.Write, p) ||
		g.allowed.denial(verbWrite, p) != nil {
		unix.Close(held)
		rule := ruleFor(verbWrite, p)
		if parents.AnyHolds(g.allowed.deny, p) {
			rule = ""
		}
		return nil, -1, unix.EACCES, &Denial{Action: "connect", Target: "unix:" + p, Rule: rule}
	}
	direct := binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX)
	return append(append(direct, link...), 0), held, 0, nil
}

// internet decides about an internet address. In a network namespace, only what the box listens on is there.
func (g *guard) internet(fd int, address []byte) ([]byte, func(), *Denial) {
	nothing := func() {}
	to, ok := addressOf(address)
	if !ok {
		return address, nothing, nil // the system says what is wrong with it
	}
	host := to.String()
	denied := &Denial{Action: "connect", Target: "tcp:" + host, Rule: hostRule(host)}
	if to.Port() == 53 {
		denied.Rule = "network.hosts" // a query for a name, which the call does not contain
	}
	switch {
	case g.offers.Namespaces && (to.Addr().IsLoopback() || to.Addr().IsUnspecified()):
		return address, nothing, nil
	case g.offers.Namespaces:
		return nil, nil, denied
	case g.proxy != nil && to == proxy.Address:
		target := binary.NativeEndian.AppendUint16(nil, unix.AF_INET)
		target = binary.BigEndian.AppendUint16(target, g.proxyAt.Port())
		target = append(append(target, g.proxyAt.Addr().AsSlice()...), make([]byte, 8)...)
		return target, func() { admit(g.proxy, fd) }, nil
	case to.Addr().IsLoopback() && g.listens(to.Port()):
		return address, nothing, nil
	}
	return nil, nil, denied
}

// addressOf reads the address of an internet socket.
func addressOf(data []byte) (netip.AddrPort, bool) {
	switch family := binary.NativeEndian.Uint16(data); {
	case family == unix.AF_INET && len(data) >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(data[4:8])), binary.BigEndian.Uint16(data[2:])), true
	case family == unix.AF_INET6 && len(data) >= 24:
		addr := netip.AddrFrom16([16]byte(data[8:24])).Unmap()
		return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(data[2:])), true
	}
	return netip.AddrPort{}, false
}

// listens reports whether a process of the box listens on a port of this machine.
func (g *guard) listens(port uint16) bool {
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for _, line := range strings.Split(string(text), "\n") {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != "0A" { // LISTEN
				continue
			}
			_, own, _ := strings.Cut(fields[1], ":")
			if n, err := strconv.ParseUint(own, 16, 16); err == nil && uint16(n) == port {
				sockets["socket:["+fields[9]+"]"] = true
			}
		}
	}
	return len(sockets) > 0 && g.holds(sockets)
}

// holds reports whether a process of the box holds one of some sockets.
func (g *guard) holds(sockets map[string]bool) bool {
	for _, pid := range keeper.Descendants(g.keeper, nil) {
		folder := "/proc/" + strconv.Itoa(pid) + "/fd"
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if target, err := os.Readlink(filepath.Join(folder, e.Name())); err == nil && sockets[target] {
				return true
			}
		}
	}
	return false
}

// listen decides about a call of listen(2), and makes it. Without a network namespace, a box listens on addresses of
// this machine only. Of local sockets it is noted which file they have.
func (s *supervisor) listen(c *call) unix.Errno {
	fd, fail := takeSocket(c)
	if fail != 0 {
		return fail
	}
	defer unix.Close(fd)
	own, err := unix.Getsockname(fd)
	if err != nil {
		return unix.ENOTSOCK
	}
	denied := func(address string) unix.Errno {
		s.denied(&Denial{Action: "bind", Target: address})
		return unix.EACCES
	}
	g := s.guard
	switch a := own.(type) {
	case *unix.SockaddrInet4:
		if to := netip.AddrFrom4(a.Addr); !g.offers.Namespaces && !to.IsLoopback() {
			return denied("tcp:" + netip.AddrPortFrom(to, uint16(a.Port)).String())
		}
	case *unix.SockaddrInet6:
		if to := netip.AddrFrom16(a.Addr).Unmap(); !g.offers.Namespaces && !to.IsLoopback() {
			return denied("tcp:" + netip.AddrPortFrom(to, uint16(a.Port)).String())
		}
	case *unix.SockaddrUnix:
		if a.Name != "" && a.Name[0] != '@' {
			g.hold(s, c, fd, a.Name)
		}
	}
	s.made = true
	if err := unix.Listen(fd, int(int32(c.Args[1]))); err != nil {
		errno, _ := err.(unix.Errno)
		return errno
	}
	return 0
}

const siocUnixFile = 0x89E0 // SIOCUNIXFILE opens the file of a local socket; it needs power over the network namespace

// most is how many local sockets a box may listen on, that others of its processes can connect to.
const most = 1024

// hold notes the file of a local socket that the box listens on. The descriptor that it keeps prevents that another
// file gets the same number.
func (g *guard) hold(s *supervisor, c *call, fd int, name string) {
	file, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), siocUnixFile, 0)
	held := int(file)
	if errno != 0 {
		p, ok := s.mem.absolute(int(c.Tid), unix.AT_FDCWD, bytes.Clone([]byte(name)))
		if !ok {
			return
		}
		var err error
		if held, err = unix.Open(string(p), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
			return
		}
		real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(held))
		if err != nil || g.allowed.denial(verbWrite, real) != nil {
			unix.Close(held)
			return
		}
	}
	var stat unix.Stat_t
	if err := unix.Fstat(held, &stat); err != nil || len(g.sockets) >= most {
		unix.Close(held)
		return
	}
	key := inode{stat.Dev, stat.Ino}
	if _, ok := g.sockets[key]; ok {
		unix.Close(held)
		return
	}
	unix.CloseOnExec(held)
	g.sockets[key] = held
}
