package machine

import (
	"strings"
	"sync"
)

// Fact is a kind of fact about a machine; several are a sum.
type Fact int

const (
	Place Fact = 1 << iota // paths: of the workspace, the home, the interpreter
	Zone                   // the time zone of the system, where TZ is not set
	User                   // the user, and what that user may do
	Host                   // the names of the machine and its system
	CPU                    // processors, memory
	Build                  // how the interpreter was built
	All   = Place | Zone | User | Host | CPU | Build
)

// Kinds are all of them.
var Kinds = []Fact{Place, Zone, User, Host, CPU, Build}

// words are the words of code that ask for facts, in Python and JavaScript. A word with a dot in front counts only
// behind one, and a word with "=" in front only without.
var words = sync.OnceValue(func() map[string]Fact {
	table := map[string]Fact{}
	for kind, text := range map[Fact]string{
		Place: `getcwd getcwdb cwd abspath realpath realpathSync readlinkSync resolve absolute
			expanduser expandvars .home homedir __dirname __filename .__file__ .__path__ .executable
			.prefix exec_prefix base_prefix base_exec_prefix execPath getsourcefile getfile
			getsitepackages getusersitepackages USER_SITE USER_BASE sysconfig =site readlink pkgutil
			find_spec .origin get_configdir get_cachedir get_data_path matplotlib_fname gettempdir
			tempdir tmpdir user_cache_dir user_config_dir user_data_dir .meta samefile relpath
			relative_to parents argv0 certifi certs`,
		Zone: `localtime ctime mktime fromtimestamp timestamp astimezone tzname tzlocal altzone
			daylight tzset Date Intl Temporal toLocaleString toLocaleDateString toLocaleTimeString
			getTimezoneOffset`,
		User: `getuid geteuid getgid getegid getresuid getgroups getlogin getuser getpwuid getpwnam
			getpwall =pwd =grp userInfo umask st_uid st_gid access W_OK R_OK X_OK`,
		Host: `gethostname getfqdn gethostbyname uname =platform getnode uuid1 hostname
			networkInterfaces`,
		CPU: `cpu_count process_cpu_count sched_getaffinity cpus availableParallelism
			hardwareConcurrency getloadavg disk_usage statvfs virtual_memory psutil totalmem freemem
			getrlimit setrlimit =resource _max_workers sysconf getrusage`,
		Build: `.version version_info hexversion OPENSSL_VERSION sqlite_version sqlite_version_info
			sysconfig python_build python_compiler python_version abiflags api_version versions
			getsizeof thread_info`,
	} {
		for w := range strings.FieldsSeq(text) {
			table[w] |= kind
		}
	}
	return table
})

// In returns the facts that a text of Python or JavaScript may ask for. Texts in quotes do not count, unless code
// can be in them.
func In(text string) (found Fact) {
	if strings.Contains(text, "/proc") || strings.Contains(text, "/sys/") {
		return All
	}
	table := words()
	var before byte // the last character before the word, blanks aside
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case isWordByte(c):
			end := i
			for end < len(text) && isWordByte(text[end]) {
				end++
			}
			word := text[i:end]
			if found |= table[word]; before == '.' {
				found |= table["."+word]
			} else {
				found |= table["="+word]
			}
			before, i = text[end-1], end
		case (c == '"' || c == '\'') && !opensCode(text[:i]):
			i, before = endOfQuote(text, i), c
		default:
			if c != ' ' && c != '\t' {
				before = c
			}
			i++
		}
	}
	return found
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// opensCode reports whether a quote after a text begins one that has code in it: f"…" and t"…" of Python.
func opensCode(before string) bool {
	prefix := before[max(0, len(before)-2):]
	return strings.ContainsAny(prefix[max(0, len(prefix)-1):], "fFtT") ||
		len(prefix) == 2 && strings.ContainsAny(prefix[1:], "rR") && strings.ContainsAny(prefix[:1], "fFtT")
}

// endOfQuote returns the place after the text in quotes that begins at i. One that does not end, as of an apostrophe in
// a comment, ends with its line.
func endOfQuote(text string, i int) int {
	quote := text[i : i+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text[i:], triple) {
		if end := strings.Index(text[i+3:], triple); end >= 0 {
			return i + 3 + end + 3
		}
	}
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case quote[0]:
			return j + 1
		case '\n':
			return i + 1 // what follows counts as code
		}
	}
	return i + 1
}
