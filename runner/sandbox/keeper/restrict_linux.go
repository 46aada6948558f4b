package keeper

import (
	"syscall"
	"unsafe"
)

// Numbers that package syscall does not have. They are the same on every architecture.
const (
	sysOpenTree     = 428
	sysMoveMount    = 429
	sysMountSetattr = 442
	sysAddRule      = 445
	sysRestrictSelf = 446
	oPath           = 0x200000
	pathBeneath     = 1
	readDir         = 1 << 3

	atFdcwd        = -100
	openTreeClone  = 1
	atRecursive    = 0x8000
	atEmptyPath    = 0x1000
	fromEmptyPath  = 4
	attrReadOnly   = 1
	prCapbsetDrop  = 24
	prCapAmbient   = 47
	ambientClear   = 4
	capVersion3    = 0x20080522
	capSetpcap     = 8
	lastCapability = 63
)

// stepError says which step of restrict failed.
type stepError struct {
	step string
	err  syscall.Errno
}

func (e stepError) Error() string { return e.step + ": " + e.err.Error() }

func failed(step string, err error) error {
	if err == nil {
		return nil
	}
	errno, _ := err.(syscall.Errno)
	return stepError{step, errno}
}

// restrict puts the bounds on the thread that starts the program, before the filter that asks the supervisor. The order
// matters: what gives power up comes after what needs it.
func restrict(s *Setup) error {
	if len(s.Bounds) == 0 {
		return nil
	}
	var b Bounds
	if !b.decode(s.Bounds) {
		return stepError{"bounds", syscall.EINVAL}
	}
	// Programs of the box do not look into the keeper. The filter would not let this pass any more.
	prctl(prSetDumpable, 0)
	for resource, most := range b.Limits {
		limit := syscall.Rlimit{Cur: most, Max: most}
		if err := syscall.Setrlimit(resource, &limit); err != nil {
			return failed("limits", err)
		}
	}
	if b.Namespaces {
		if err := b.separate(); err != nil {
			return err
		}
	}
	if errno := prctl(prSetNoNewPrivs, 1); errno != 0 {
		return stepError{"no new privileges", errno}
	}
	if err := dropCapabilities(b.Capabilities); err != nil {
		return failed("capabilities", err)
	}
	if b.Ruleset > 0 {
		if _, _, errno := syscall.RawSyscall(sysRestrictSelf, uintptr(b.Ruleset), 0, 0); errno != 0 {
			return stepError{"landlock", errno}
		}
		syscall.Close(b.Ruleset)
	}
	return nil
}

// separate gives the thread its own view of the folders, the network, and interprocess communication.
func (b *Bounds) separate() error {
	if err := syscall.Unshare(syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC); err != nil {
		return failed("namespaces", err)
	}
	if err := loopback(); err != nil {
		return failed("loopback", err)
	}
	if b.Port != 0 {
		if err := b.listen(); err != nil {
			return failed("proxy", err)
		}
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return failed("private mounts", err)
	}
	return b.mounts()
}

// mounts makes everything readable alone but what is writable, and covers what is not to be seen. Copies of what stays
// writable are taken first.
func (b *Bounds) mounts() error {
	writable, err := trees(b.Writable)
	if err != nil {
		return failed("writable folders", err)
	}
	inside := make([][]int, len(b.Covered))
	for i, c := range b.Covered {
		if inside[i], err = trees(c.Inside); err != nil {
			return failed("folders inside", err)
		}
	}
	if err := readOnly("/", atRecursive); err != nil {
		return failed("read-only view", err)
	}
	for i, path := range b.Writable {
		if err := place(writable[i], path); err != nil {
			return failed("writable folder", err)
		}
	}
	if err := b.freeze(); err != nil {
		return failed("read-only file", err)
	}
	for i, c := range b.Covered {
		if err := c.cover(inside[i]); err != nil {
			return failed("covered folder", err)
		}
	}
	return b.special()
}

// freeze mounts the frozen files and folders on themselves, readable alone.
func (b *Bounds) freeze() error {
	for _, path := range b.Frozen {
		fds, err := trees([]string{path})
		if err != nil {
			return err
		}
		if err := place(fds[0], path); err != nil {
			return err
		}
		if err := readOnly(path, atRecursive); err != nil {
			return err
		}
	}
	return nil
}

// special mounts new terminals, and a view of the processes that shows only those that the program may trace: Landlock
// allows it to trace those of its box.
func (b *Bounds) special() error {
	if err := syscall.Mount("devpts", "/dev/pts", "devpts", syscall.MS_NOSUID|syscall.MS_NOEXEC,
		"newinstance,ptmxmode=0666,mode=620"); err != nil {
		return failed("terminals", err)
	}
	fds, err := trees([]string{"/dev/pts/ptmx"})
	if err == nil {
		err = place(fds[0], "/dev/ptmx")
	}
	if err == nil {
		err = b.allow("/dev/pts", b.DeviceRights)
	}
	if err == nil {
		err = b.allow("/dev/ptmx", b.DeviceRights&^readDir)
	}
	if err != nil || !b.Processes {
		return failed("terminals", err)
	}
	err = syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "hidepid=4")
	if err == nil {
		err = b.allow("/proc", b.ReadRights)
	}
	return failed("processes", err)
}

// allow adds a rule to the ruleset of Landlock.
func (b *Bounds) allow(path string, rights uint64) error {
	if b.Ruleset == 0 {
		return nil
	}
	fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	rule := struct { // struct landlock_path_beneath_attr, which is packed
		rights uint64
		folder int64
	}{rights, int64(fd)}
	_, _, errno := syscall.RawSyscall6(sysAddRule, uintptr(b.Ruleset), pathBeneath,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	return asError(errno)
}

// trees takes copies of the mounts at paths, with what is mounted below.
func trees(paths []string) ([]int, error) {
	var fds []int
	for _, path := range paths {
		p, err := syscall.BytePtrFromString(path)
		if err != nil {
			return nil, err
		}
		at := atFdcwd
		fd, _, errno := syscall.RawSyscall(sysOpenTree, uintptr(at), uintptr(unsafe.Pointer(p)),
			openTreeClone|atRecursive|syscall.O_CLOEXEC)
		if errno != 0 {
			return nil, errno
		}
		fds = append(fds, int(fd))
	}
	return fds, nil
}

// place mounts a copy at a path.
func place(fd int, path string) error {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	at, empty := atFdcwd, [1]byte{}
	_, _, errno := syscall.RawSyscall6(sysMoveMount, uintptr(fd), uintptr(unsafe.Pointer(&empty)),
		uintptr(at), uintptr(unsafe.Pointer(p)), fromEmptyPath, 0)
	syscall.Close(fd)
	return asError(errno)
}

// readOnly makes a mount readable alone.
func readOnly(path string, flags uintptr) error {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	at := atFdcwd
	attr := [4]uint64{attrReadOnly}
	_, _, errno := syscall.RawSyscall6(sysMountSetattr, uintptr(at), uintptr(unsafe.Pointer(p)), flags,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	return asError(errno)
}

// cover mounts an empty folder, or an empty file, over a path, and puts folders back that lie inside.
func (c Cover) cover(inside []int) error {
	if c.File {
		fds, err := trees([]string{"/dev/null"})
		if err != nil {
			return err
		}
		return place(fds[0], c.Path)
	}
	err := syscall.Mount("tmpfs", c.Path, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC,
		"size=64k,mode=755")
	if err != nil {
		return err
	}
	for i, path := range c.Inside {
		for at := len(c.Path) + 1; at <= len(path); at++ { // each folder on the way
			if at == len(path) || path[at] == '/' {
				if err := syscall.Mkdir(path[:at], 0o755); err != nil && err != syscall.EEXIST {
					return err
				}
			}
		}
		if err := place(inside[i], path); err != nil {
			return err
		}
	}
	return readOnly(c.Path, 0)
}

// loopback makes 127.0.0.0/8 and ::1 reachable in a new network namespace.
func loopback() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(request.name[:], "lo")
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS,
		uintptr(unsafe.Pointer(&request)))
	return asError(errno)
}

// listen makes the listener for the proxy, and sends it to the engine. A socket stays in the network in which it was
// made, so the engine accepts what the box connects.
func (b *Bounds) listen() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: b.Address, Port: b.Port}); err != nil {
		return err
	}
	if err := syscall.Listen(fd, 128); err != nil {
		return err
	}
	defer syscall.Close(b.Back)
	return syscall.Sendmsg(b.Back, []byte{0}, syscall.UnixRights(fd), nil, 0)
}

// dropCapabilities gives up all capabilities but some, also for programs that are executed later.
func dropCapabilities(keep uint64) error {
	header := struct {
		version uint32
		pid     int32
	}{version: capVersion3}
	var have [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&have)), 0); errno != 0 {
		return errno
	}
	if have[0].effective&(1<<capSetpcap) != 0 {
		for c := uintptr(0); c <= lastCapability; c++ {
			if keep&(1<<c) == 0 {
				prctl(prCapbsetDrop, c) // the system may not know so many
			}
		}
	}
	prctl(prCapAmbient, ambientClear)
	for i := range have {
		some := uint32(keep >> (32 * i))
		have[i].permitted &= some
		have[i].effective, have[i].inheritable = have[i].permitted, 0
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&have)), 0)
	return asError(errno)
}
