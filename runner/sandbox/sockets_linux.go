package sandbox

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/xstate-engine/xstate/runner/sandbox/proxy"
	"golang.org/x/sys/unix"
)

// onSocket notes the address that a socket is connected or bound to. An address of netlink asks the system's kernel.
func (s *supervisor) onSocket(c *call) unix.Errno {
	if s.silent(c) && s.recorder == nil {
		return 0
	}
	address, length := c.Args[1], c.Args[2]
	if c.Number == unix.SYS_SENDTO {
		address, length = c.Args[4], c.Args[5]
	}
	var buf [128]byte
	data := buf[:readMemory(int(c.Tid), address, buf[:min(length, uint64(len(buf)))])]
	if len(data) < 2 {
		return s.decide(c)
	}
	family, data := binary.NativeEndian.Uint16(data), data[2:]
	switch family {
	case unix.AF_UNIX:
		c.peer = s.unixAddress(c, string(data))
	case unix.AF_INET:
		if len(data) >= 6 {
			c.peer = s.kindOf(c) + address4(data)
		}
	case unix.AF_INET6:
		if len(data) >= 22 {
			c.peer = s.kindOf(c) + address6(data)
		}
	}
	if !s.valid(&c.notification) {
		return 0
	}
	if fail := s.decide(c); fail != 0 {
		return fail
	}
	if s.guard != nil && c.Number == unix.SYS_CONNECT {
		if fail := s.connect(c, append([]byte(nil), buf[:2+len(data)]...)); fail != 0 {
			return fail
		}
	}
	recorded := s.toProxy(c)
	if recorded && s.recorder != nil {
		return s.relay(c)
	}
	if c.peer == "" || c.main && !s.inside || recorded {
		return 0
	}
	if c.to.path != "" {
		s.followed(c)
		if c.act == actBind {
			s.create(c, &c.to, UseLook)
		} else if s.use(c, &c.to, UseLook); !c.to.ok {
			return 0 // no socket is there
		}
	}
	if c.act == actBind {
		addOnce(&s.notes.report.Sockets, "bind:"+c.peer)
	} else {
		addOnce(&s.notes.report.Sockets, c.peer)
	}
	return 0
}

// unixAddress names a local socket. One with a path is looked up as a file is.
func (s *supervisor) unixAddress(c *call, name string) string {
	if name == "" {
		return "" // the system chooses a name
	}
	if name[0] == 0 {
		return "unix:@" + name[1:]
	}
	name, _, _ = strings.Cut(name, "\x00")
	p, ok := s.mem.absolute(int(c.Tid), unix.AT_FDCWD, []byte(name))
	if !ok {
		return "unix:" + name
	}
	root := ""
	if s.rooted {
		root = rootOf(int(c.Tid))
	}
	s.resolve.reset(s.cache(c), int(c.Tid), root)
	c.to = s.resolve.find(rooted(root, string(p)), c.act != actBind)
	return "unix:" + c.to.path
}

func address4(data []byte) string {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(data[2:6])), binary.BigEndian.Uint16(data)).String()
}

func address6(data []byte) string {
	return netip.AddrPortFrom(netip.AddrFrom16([16]byte(data[6:22])).Unmap(), binary.BigEndian.Uint16(data)).String()
}

// kindOf is the kind of a socket of a process, as a prefix. To see it, this process takes a copy of the socket.
func (s *supervisor) kindOf(c *call) string {
	process, err := unix.PidfdOpen(groupOf(int(c.Tid)), 0)
	if err != nil {
		return "inet:"
	}
	defer unix.Close(process)
	fd, err := unix.PidfdGetfd(process, int(c.Args[0]), 0)
	if err != nil {
		return "inet:"
	}
	defer unix.Close(fd)
	switch kind, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); kind {
	case unix.SOCK_STREAM:
		return "tcp:"
	case unix.SOCK_DGRAM:
		return "udp:"
	}
	return "inet:"
}

// toProxy reports whether a socket is connected to a proxy that records.
func (s *supervisor) toProxy(c *call) bool {
	return s.spec.Record != nil && c.Number == unix.SYS_CONNECT && strings.HasSuffix(c.peer, ":"+proxy.Address.String())
}

// relay connects a socket of a box without bounds to the proxy, which listens elsewhere: its usual address is the same
// in each run.
func (s *supervisor) relay(c *call) unix.Errno {
	fd, fail := takeSocket(c)
	if fail != 0 {
		return fail
	}
	defer unix.Close(fd)
	s.made = true
	to := &unix.SockaddrInet4{Port: int(s.recorder.at.Port()), Addr: s.recorder.at.Addr().As4()}
	err := unix.Connect(fd, to)
	if err == nil || err == unix.EINPROGRESS {
		admit(s.recorder.proxy, fd)
	}
	errno, _ := err.(unix.Errno)
	return errno
}

// admit lets a proxy serve a socket that was connected to it.
func admit(p *proxy.Proxy, fd int) {
	if from, err := unix.Getsockname(fd); err == nil {
		if in, ok := from.(*unix.SockaddrInet4); ok {
			p.Admit(netip.AddrPortFrom(netip.AddrFrom4(in.Addr), uint16(in.Port)))
		}
	}
}
