/* Forks interpreters from this one: see ../doc.go. The copy is one for the system alone. CPython is not notified, as
   it is by os.fork, so the copy holds what this interpreter holds: the state of its generators, locks, and callbacks.
   That is right because there is one thread. With older headers of the system, numbers replace names. */

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_FILES = 16, MOST_FILTER = 1 << 16, NEW_LISTENER = 1 << 3, WAIT_KILLABLE = 1 << 5, CLOSE_RANGE = 436 };
static const uint32_t THREAD = 0x7e3a91c5; /* see keeper.Thread */

/* What the engine asks for: the filter of a box, and the descriptors of a process; the first is the control socket. */
typedef struct { unsigned char filter[MOST_FILTER]; size_t size; int files[MOST_FILES], n; } Request;

/* The first message on a control socket; the listener comes with it. The second one is how the interpreter ended. */
typedef struct { int32_t keeper, pid, error, killable; } Begun;

/* Takes a request. 0: none is left. */
static int take(int door, Request *r)
{
	union { char bytes[CMSG_SPACE(sizeof r->files)]; struct cmsghdr align; } rights;
	struct iovec part = {r->filter, sizeof r->filter};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = rights.bytes,
		.msg_controllen = sizeof rights.bytes};
	ssize_t n;
	while ((n = recvmsg(door, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (!c || c->cmsg_type != SCM_RIGHTS) return 0;
	r->size = n;
	r->n = (c->cmsg_len - CMSG_LEN(0)) / sizeof *r->files;
	memcpy(r->files, CMSG_DATA(c), r->n * sizeof *r->files);
	return r->n > 0;
}

/* Puts the filter on this process, and sends its listener. */
static void begin_box(Request *r)
{
	struct { unsigned short length; void *first; } program = {r->size / 8, r->filter};
	Begun begun = {.keeper = getppid(), .pid = getpid(), .killable = 1};
	long listener = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!listener) listener = syscall(SYS_seccomp, 1, NEW_LISTENER | WAIT_KILLABLE, &program);
	if (listener < 0 && errno == EINVAL) {
		begun.killable = 0;
		listener = syscall(SYS_seccomp, 1, NEW_LISTENER, &program);
	}
	if (listener < 0) begun.error = errno;
	union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } rights = {{0}};
	struct iovec part = {&begun, sizeof begun};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	if (listener >= 0) {
		m.msg_control = rights.bytes, m.msg_controllen = sizeof rights.bytes;
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
		int fd = listener;
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	if (sendmsg(r->files[0], &m, MSG_NOSIGNAL) < 0 || listener < 0) _exit(125);
	close(listener);
	close(r->files[0]);
}

static void wake(int number) { }

/* Kills all children, and those that they leave, until there are none. */
static void end_all(void)
{
	for (;;) {
		char line[64];
		int pid;
		snprintf(line, sizeof line, "/proc/self/task/%d/children", (int)getpid());
		FILE *children = fopen(line, "re");
		while (children && fscanf(children, "%d", &pid) == 1) kill(pid, SIGKILL);
		if (children) fclose(children);
		while ((pid = waitpid(-1, NULL, 0)) < 0 && errno == EINTR);
		if (pid < 0) return;
	}
}

/* Does what package keeper does for a box: adopts its orphans, and ends it when the engine goes, or closes control. */
static void keep(int control, pid_t interpreter)
{
	int status = 0, s, ended = 0;
	sigset_t child, usual;
	struct sigaction act = {.sa_handler = wake};
	prctl(PR_SET_NAME, "xstate-keeper", 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	dup2(control, 3);
	if (syscall(CLOSE_RANGE, 0, 2, 0) || syscall(CLOSE_RANGE, 4, ~0U, 0))
		for (int fd = sysconf(_SC_OPEN_MAX); --fd >= 0;) if (fd != 3) close(fd);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &usual);
	sigdelset(&usual, SIGCHLD);
	sigaction(SIGCHLD, &act, NULL);
	for (struct pollfd of = {3, POLLIN | POLLRDHUP, 0}; !ended;) {
		for (pid_t pid; (pid = waitpid(-1, &s, WNOHANG)) > 0;)
			if (pid == interpreter) status = s, ended = 1;
		if (!ended && ppoll(&of, 1, NULL, &usual) > 0) {
			kill(interpreter, SIGKILL);
			while (waitpid(interpreter, &status, 0) < 0 && errno == EINTR);
			ended = 1;
		}
	}
	end_all();
	send(3, &status, sizeof status, MSG_NOSIGNAL);
	_exit(0);
}

static Request request;
static struct sigaction usual; /* on the end of a child */

/* Makes a keeper, and the interpreter below it. Returns in the interpreter alone. */
static void begin_keeper(Request *r, pid_t template)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != template) _exit(125);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	sigaction(SIGCHLD, &usual, NULL);
	setpgid(0, 0);
	for (size_t i = 0; i + 8 <= r->size; i += 8) {
		uint32_t constant, self = getpid();
		memcpy(&constant, r->filter + i + 4, sizeof constant);
		if (constant == THREAD) memcpy(r->filter + i + 4, &self, sizeof self);
	}
	pid_t keeper = getpid(), pid = fork();
	if (pid < 0) _exit(125);
	if (pid) keep(r->files[0], pid);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != keeper) _exit(125);
	setpgid(0, 0);
	begin_box(r);
}


/* template(door): waits for requests on a socket. Returns in the forked interpreters alone, with their descriptors. */
static PyObject *template(PyObject *self, PyObject *number)
{
	int door = PyLong_AsLongLong(number);
	PyObject *list;
	if (PyErr_Occurred()) return NULL;
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigaction(SIGCHLD, &ignore, &usual); /* so that no keeper stays as a zombie */
	for (pid_t own = getpid(), pid;;) {
		if (!take(door, &request)) _exit(0);
		if (!(pid = fork())) begin_keeper(&request, own);
		if (!pid) break;
		for (int i = 0; i < request.n; i++) close(request.files[i]);
	}
	close(door);
	if (!(list = PyList_New(0))) return NULL;
	for (int i = 1; i < request.n; i++) {
		PyObject *fd = PyLong_FromLongLong(request.files[i]);
		if (!fd || PyList_Append(list, fd)) return NULL;
		Py_DecRef(fd);
	}
	return list;
}

/* Whether a thread is the one in which jemalloc (of Arrow) gives memory back: jemalloc does without it after a fork. */
static int gives_back(const char *thread)
{
	char path[64], name[32] = "";
	snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", thread);
	FILE *file = fopen(path, "re");
	if (file) {
		if (!fgets(name, sizeof name, file)) *name = 0;
		fclose(file);
	}
	return !strcmp(name, "jemalloc_bg_thd\n");
}

/* Counts what is in a folder, but for what is left out. */
static int entries(const char *path, int (*left_out)(const char *))
{
	DIR *folder = opendir(path);
	int n = 0;
	for (struct dirent *e; folder && (e = readdir(folder));)
		n += *e->d_name != '.' && !(left_out && left_out(e->d_name));
	if (folder) closedir(folder);
	return n;
}

/* alone(): the threads of this process once it has forked, which ends those of libraries that can begin them again, its
   open descriptors, and whether it has children. */
static PyObject *alone(PyObject *self, PyObject *none)
{
	pid_t pid = fork();
	if (!pid) _exit(0);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR);
	siginfo_t child;
	return Py_BuildValue("iii", entries("/proc/self/task", gives_back), entries("/proc/self/fd", NULL) - 1,
		!waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT));
}
