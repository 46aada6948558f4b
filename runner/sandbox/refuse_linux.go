package sandbox

import "golang.org/x/sys/unix"

// never are calls that no box makes, whatever its arguments are. They change the system, reach other processes, or
// get around the supervisor.
var never = []struct {
	errno unix.Errno
	calls []int
}{
	// Programs do without these where the system is old, so it looks old.
	{unix.ENOSYS, []int{unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
		unix.SYS_IO_URING_REGISTER, unix.SYS_USERFAULTFD}},
	{unix.EPERM, []int{
		// keys, tracing, performance counters
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN,
		unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
		// the system itself
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
		unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_SYSLOG,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
		unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE,
		// what is where
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
		unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	}},
}

// modes are calls that set permissions, and the argument with them. A program with the rights of its owner, or of its
// group, would keep them for any user who runs it outside of the box. A filter does not know folders from files, so a
// folder whose files get its group is refused, too.
var modes = append([]struct{ number, arg int }{
	{unix.SYS_OPENAT, 3}, {unix.SYS_MKNODAT, 2}, {unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2},
}, ownModes...)

// sharedCalls are the calls of System V's and POSIX's memory, semaphores and queues. Those of another process are used
// by their number, without a call that asks for it.
var sharedCalls = []int{unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP,
	unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK}

const (
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME
	kindMask = 0xf // bits for the type of a socket: the rest are flags

	noRandomAddresses = 0x0040000 // a persona that debuggers use
	askPersona        = 0xffffffff
	ioprioWhoUser     = 3
)

// refusals are the instructions that refuse calls by their numbers alone. No other thread can change what they look at.
// Each returns or leaves the number of the call loaded.
func refusals(offers Offers, supervised bool) []unix.SockFilter {
	var p []unix.SockFilter
	for _, r := range never {
		for _, number := range r.calls {
			p = append(p, onCall(number, giveError(r.errno))...)
		}
	}
	for _, number := range ownRefused {
		p = append(p, onCall(number, giveError(unix.EPERM))...)
	}
	eperm := giveError(unix.EPERM)
	p = append(p, unless(unix.SYS_CLONE, 0, jump(unix.BPF_JSET, newNamespaces, 0, 1), eperm)...)
	p = append(p, unless(unix.SYS_UNSHARE, 0, jump(unix.BPF_JSET, newNamespaces, 0, 1), eperm)...)
	p = append(p, unless(unix.SYS_PERSONALITY, 0, equal(0, 3, 0), equal(noRandomAddresses, 2, 0),
		equal(askPersona, 1, 0), eperm)...)
	p = append(p, unless(unix.SYS_IOCTL, 1, equal(unix.TIOCSTI, 1, 0), equal(unix.TIOCLINUX, 0, 1), eperm)...)
	// The limits of another process may not be set: not even those of the engine.
	p = append(p, unless(unix.SYS_PRLIMIT64, 0, equal(0, 1, 0), eperm)...)
	// A process that cannot be looked into cannot be observed. The wish is granted in appearance.
	p = append(p, unless(unix.SYS_PRCTL, 0, equal(unix.PR_SET_DUMPABLE, 0, 1), giveError(0))...)
	if offers.Landlock == 0 {
		p = append(p, onCall(unix.SYS_PTRACE, eperm)...)
		p = append(p, onCall(unix.SYS_PROCESS_VM_READV, eperm)...)
	}
	for _, m := range modes {
		p = append(p, unless(m.number, m.arg, jump(unix.BPF_JSET, unix.S_ISUID|unix.S_ISGID, 0, 1), eperm)...)
	}
	p = append(p, refusedSockets(offers, supervised)...)
	if !offers.Namespaces {
		for _, number := range sharedCalls {
			p = append(p, onCall(number, giveError(unix.ENOSYS))...) // they are shared with all processes of the user
		}
	}
	return p
}

// alone makes a filter of refusals alone. It knows the calls of this processor only.
func alone(refusals []unix.SockFilter) []unix.SockFilter {
	p := []unix.SockFilter{load(offArch), equal(ownArchitecture, 1, 0), giveError(unix.ENOSYS), load(offNumber)}
	if secondNumbers != 0 {
		p = append(p, jump(unix.BPF_JGE, secondNumbers, 0, 1), giveError(unix.ENOSYS))
	}
	return append(append(p, refusals...), giveBack(unix.SECCOMP_RET_ALLOW))
}

// askOf are the actions that bring a call to the supervisor. Without one, the call fails.
var askOf = map[Level]unix.SockFilter{
	LevelCalls: giveBack(unix.SECCOMP_RET_USER_NOTIF), LevelTrace: giveBack(unix.SECCOMP_RET_TRACE),
	LevelHooks: giveError(unix.EPERM),
}

// aboutProcesses are the calls that may do something to a process outside of the box: of the same user, if Landlock
// does not stop them. The number of the process is in a register, so the supervisor can let the call through.
func aboutProcesses(offers Offers, ask unix.SockFilter) []unix.SockFilter {
	var p []unix.SockFilter
	for _, number := range []int{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER,
		unix.SYS_SCHED_SETATTR, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES} {
		p = append(p, unless(number, 0, equal(0, 1, 0), ask)...) // 0 is the caller
	}
	for _, number := range []int{unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET} {
		p = append(p, unless(number, 1, equal(0, 1, 0), ask)...)
	}
	p = append(p, unless(unix.SYS_SETPRIORITY, 0, equal(unix.PRIO_USER, 0, 1), giveError(unix.EPERM))...)
	p = append(p, unless(unix.SYS_IOPRIO_SET, 0, equal(ioprioWhoUser, 0, 1), giveError(unix.EPERM))...)
	if offers.Landlock >= 6 {
		return p
	}
	for _, number := range []int{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO,
		unix.SYS_RT_TGSIGQUEUEINFO} {
		p = append(p, unless(number, 0, equal(0, 1, 0), ask)...)
	}
	p = append(p, onCall(unix.SYS_PIDFD_SEND_SIGNAL, giveError(unix.ENOSYS))...)
	return append(p, unless(unix.SYS_FCNTL, 1, equal(unix.F_SETOWN, 1, 0), equal(unix.F_SETOWN_EX, 0, 1),
		giveError(unix.EPERM))...)
}

// unless applies instructions to an argument of one call. They end in a return, or jump over it to what follows.
func unless(number, arg int, body ...unix.SockFilter) []unix.SockFilter {
	return onCall(number, append(append([]unix.SockFilter{loadArg(arg)}, body...), load(offNumber))...)
}

// refusedSockets leaves sockets over which the supervisor has control: each sends only to its connected address.
// Datagram sockets name their target in memory, for each message.
func refusedSockets(offers Offers, supervised bool) []unix.SockFilter {
	denied := giveError(unix.EACCES)
	fine := load(offNumber)
	streams := []unix.SockFilter{
		loadArg(1), {Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: kindMask},
		equal(unix.SOCK_STREAM, 2, 0), equal(unix.SOCK_SEQPACKET, 1, 0), denied,
	}
	local := append(append([]unix.SockFilter{}, streams...), fine)
	if !supervised {
		local = []unix.SockFilter{denied}
	}
	p := onCall(unix.SYS_SOCKETPAIR, append(append([]unix.SockFilter{}, streams...), fine)...)
	if !offers.Namespaces {
		fast := giveError(unix.EOPNOTSUPP)
		p = append(p, unless(unix.SYS_SENDTO, 3, jump(unix.BPF_JSET, unix.MSG_FASTOPEN, 0, 1), fast)...)
		p = append(p, unless(unix.SYS_SENDMSG, 2, jump(unix.BPF_JSET, unix.MSG_FASTOPEN, 0, 1), fast)...)
		p = append(p, unless(unix.SYS_SENDMMSG, 3, jump(unix.BPF_JSET, unix.MSG_FASTOPEN, 0, 1), fast)...)
		if !supervised {
			for _, number := range []int{unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN} {
				p = append(p, onCall(number, denied)...)
			}
		}
	}
	return append(p, socketCall(offers, local)...)
}

// socketCall decides about socket(2) by family, kind and protocol.
func socketCall(offers Offers, local []unix.SockFilter) []unix.SockFilter {
	denied, fine := giveError(unix.EACCES), load(offNumber)
	internet := []unix.SockFilter{fine}
	if !offers.Namespaces {
		internet = []unix.SockFilter{
			loadArg(1), {Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: kindMask}, equal(unix.SOCK_STREAM, 0, 3),
			loadArg(2), equal(0, 2, 0), equal(unix.IPPROTO_TCP, 1, 0), denied, fine,
		}
	}
	netlink := []unix.SockFilter{loadArg(2), equal(unix.NETLINK_ROUTE, 1, 0), denied, fine}
	var body []unix.SockFilter
	for _, f := range []struct {
		family int
		body   []unix.SockFilter
	}{{unix.AF_UNIX, local}, {unix.AF_INET, internet}, {unix.AF_INET6, internet}, {unix.AF_NETLINK, netlink}} {
		body = append(body, equal(uint32(f.family), 0, len(f.body)+1))
		body = append(body, f.body...)
		body = append(body, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: 0})
	}
	// Each family's instructions end at a jump to the end of the body.
	body = append(body, giveError(unix.EAFNOSUPPORT))
	at := 0
	for _, n := range []int{len(local), len(internet), len(internet), len(netlink)} {
		at += 1 + n
		body[at].K = uint32(len(body) - at - 1)
		at++
	}
	return onCall(unix.SYS_SOCKET, append([]unix.SockFilter{loadArg(0)}, body...)...)
}
