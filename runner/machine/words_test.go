package machine

import "testing"

func TestIn(t *testing.T) {
	for text, want := range map[string]Fact{
		"x = os.path.join(a, b) + 1":                   0,
		"Path(__file__).parent / 'data.csv'":           0,
		"np.where(df.homes > 1, 'getcwd', 'hostname')": 0,
		"for node in machine.prefixes: release(node)":  0,
		"datetime.date(2020, 1, 1).isoformat()":        0,
		"sys.platform == 'linux'":                      0,
		"'''os.getcwd()''' + 'os.getcwd()'":            0,
		"os.getcwd()":                                  Place,
		"print(np.__file__)":                           Place,
		"Path . home ()":                               Place,
		"print(f'{os.getcwd()}')":                      Place,
		"print(rf'{os.getcwd()}')":                     Place,
		"x = 'it' # it's\nos.getcwd()":                 Place,
		"x = \"\"\"it's\"\"\" + os.getcwd()":           Place,
		`x = 'a\'' + os.getcwd()`:                      Place,
		"console.log(`${process.cwd()}`)":              Place,
		"path.basename(__dirname)":                     Place,
		"datetime.fromtimestamp(0)":                    Zone,
		"new Date(2020, 1, 1)":                         Zone,
		"import platform; platform.node()":             Host,
		"socket.gethostname(), os.cpu_count()":         Host | CPU,
		"getpass.getuser()":                            User,
		"sys.version":                                  Build,
		"open('/proc/sys/kernel/hostname').read()":     All,
	} {
		if have := In(text); have != want {
			t.Errorf("In(%q) = %b, want %b", text, have, want)
		}
	}
}

// TestDescribe: each kind says something, and the same each time.
func TestDescribe(t *testing.T) {
	f := Folders{Home: "/home/ann", Workspace: "/home/ann/work", Interpreter: "/proc/self/exe"}
	for _, kind := range Kinds {
		if one := Describe(kind, f); one == "" || one != Describe(kind, f) {
			t.Errorf("kind %d: %q, then %q", kind, one, Describe(kind, f))
		}
	}
	other := f
	other.Workspace = "/home/ann/other"
	if Describe(Place, f) == Describe(Place, other) {
		t.Error("two folders are one place")
	}
}
