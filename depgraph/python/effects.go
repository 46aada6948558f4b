package python

import (
	"strings"

	"github.com/xstate-engine/xstate/depgraph"
	p "github.com/xstate-engine/xstate/depgraph/python/pytree"
)

// These tables serve only to predict order and to plan; an execution observes what really happened. So a method name as
// general as "glob" is listed for any object. A missing library costs a prediction, never a wrong result.

// effectCalls maps the dotted names of functions to their effect.
var effectCalls = depgraph.EffectsByName(map[depgraph.EffectKind]string{
	depgraph.EffectFile: `open io.open os.open os.fdopen os.listdir os.scandir os.walk os.stat os.lstat
		os.access os.remove os.unlink os.rename os.replace os.mkdir os.makedirs os.rmdir os.removedirs os.link
		os.symlink os.readlink os.truncate os.utime os.chmod os.path.exists os.path.lexists os.path.isfile
		os.path.isdir os.path.islink os.path.getsize os.path.getmtime os.path.realpath glob.glob glob.iglob
		sqlite3.connect dbm.open shelve.open zipfile.ZipFile tarfile.open gzip.open bz2.open lzma.open codecs.open
		fileinput.input numpy.load numpy.save numpy.savez numpy.savez_compressed numpy.loadtxt numpy.savetxt
		numpy.genfromtxt numpy.fromfile numpy.memmap pandas.read_csv pandas.read_table pandas.read_fwf
		pandas.read_excel pandas.read_json pandas.read_html pandas.read_xml pandas.read_hdf pandas.read_feather
		pandas.read_parquet pandas.read_orc pandas.read_sas pandas.read_spss pandas.read_pickle pandas.read_stata
		pandas.read_sql pandas.read_sql_query pandas.read_sql_table pandas.ExcelWriter pandas.ExcelFile
		pandas.HDFStore polars.read_csv polars.scan_csv polars.read_parquet polars.scan_parquet joblib.load
		joblib.dump matplotlib.pyplot.savefig matplotlib.pyplot.imread matplotlib.pyplot.imsave PIL.Image.open
		cv2.imread cv2.imwrite __xstate__.writefile torch.load torch.save h5py.File xarray.open_dataset
		duckdb.connect`,
	depgraph.EffectEnviron: `__xstate__.env os.getenv os.putenv os.unsetenv os.getenvb`,
	depgraph.EffectCwd: `__xstate__.cd __xstate__.pwd os.chdir os.fchdir os.getcwd os.getcwdb
		os.path.abspath contextlib.chdir pathlib.Path.cwd`,
	depgraph.EffectRandom: `os.urandom uuid.uuid1 uuid.uuid4 torch.manual_seed torch.rand torch.randn
		torch.randint torch.randperm tensorflow.random.set_seed`,
	depgraph.EffectClock: `datetime.datetime.now datetime.datetime.today datetime.datetime.utcnow
		datetime.date.today pandas.Timestamp.now pandas.Timestamp.today pandas.Timestamp.utcnow`,
	depgraph.EffectSubprocess: `__xstate__.system __xstate__.getoutput __xstate__.bash __xstate__.cell_magic
		os.system os.popen os.fork os.forkpty os.execv os.execve os.execvp os.execl os.execlp os.spawnl os.spawnv
		os.posix_spawn os.kill os.startfile pty.spawn asyncio.create_subprocess_exec asyncio.create_subprocess_shell`,
	depgraph.EffectNetwork: `urllib.urlopen asyncio.open_connection asyncio.start_server`,
	depgraph.EffectInput:   `input getpass.getpass sys.stdin.read sys.stdin.readline sys.stdin.readlines`,
})

// effectModules maps modules to the effect of every call into them.
var effectModules = depgraph.EffectsByName(map[depgraph.EffectKind]string{
	depgraph.EffectFile:   `shutil tempfile`,
	depgraph.EffectRandom: `random numpy.random secrets`,
	depgraph.EffectClock:  `time`,
	depgraph.EffectNetwork: `requests urllib.request urllib3 socket http.client http.server httpx aiohttp
		ftplib smtplib websockets boto3`,
	depgraph.EffectSubprocess: `subprocess multiprocessing`,
})

// effectValues maps dotted names that have an effect without a call.
var effectValues = depgraph.EffectsByName(map[depgraph.EffectKind]string{
	depgraph.EffectEnviron: `os.environ os.environb`,
	depgraph.EffectInput:   `sys.stdin`,
})

// effectMethods maps names of methods to their effect, for any object.
var effectMethods = depgraph.EffectsByName(map[depgraph.EffectKind]string{
	depgraph.EffectFile: `read_text read_bytes write_text write_bytes iterdir rglob glob mkdir rmdir unlink
		touch exists is_file is_dir to_csv to_parquet to_excel to_json to_pickle to_feather to_hdf to_sql to_html
		to_stata to_orc to_latex savefig tofile write_csv write_parquet sink_parquet open`,
	depgraph.EffectCwd:    `cwd`,
	depgraph.EffectRandom: `sample shuffle`,
})

// commonAliases are names that usually refer to a module, even if the block does not import it.
var commonAliases = map[string]string{
	"np":  "numpy",
	"pd":  "pandas",
	"plt": "matplotlib.pyplot",
	"pl":  "polars",
	"tf":  "tensorflow",
}

// effectNames returns the last parts of all names in the tables, and the modules. The walk stops at these names.
func effectNames() []string {
	var names []string
	for _, t := range []map[string]depgraph.EffectKind{effectCalls, effectModules, effectValues, effectMethods} {
		for dotted := range t {
			names = append(names, dotted[strings.LastIndexByte(dotted, '.')+1:])
		}
	}
	return names
}

// chain is a dotted name in the source that may be an effect or a dynamic construct.
type chain struct {
	node   int    // index in depgraph.Facts.Nodes
	tree   uint32 // the attribute or identifier
	sym    int32  // the leftmost name; noIndex if the leftmost part is not a name
	called bool
	timing timing
	inside bool // in a function, lambda or the like
}

func (w *walker) noteChain(i uint32, s int32, called bool) {
	sc := &w.all[w.cur]
	if sc.timing == never {
		return
	}
	inside := sc.timing != now || sc.kind == functionScope || sc.kind == lambdaScope
	w.chains = append(w.chains, chain{w.node, i, s, called, sc.timing, inside})
}

// noteName records a name that is read and may be an effect or a dynamic construct.
func (w *walker) noteName(i uint32, s int32, k nameKind, called bool) {
	if k&superName != 0 && w.all[w.cur].kind != moduleScope && w.all[w.cur].kind != classScope {
		w.use(w.intern(i, superClass))
	}
	if called && k&(effectName|dynamicName|aliasName) != 0 || k&(aliasName|dynamicName) != 0 {
		w.noteChain(i, s, called)
	}
}

// resolve follows a symbol outward to the scope that binds the name. The result is the module's symbol or a function's.
func (t *scopes) resolve(i int32) int32 {
	for t.syms[i].up != noIndex {
		i = t.syms[i].up
	}
	return i
}

// meaning returns the dotted name that a chain refers to. ok is false if its root is a name of the program's own.
func (w *walker) meaning(c chain) (dotted string, ok bool) {
	written := w.written(c.tree)
	if c.sym == noIndex {
		return written, true
	}
	root, rest, _ := strings.Cut(written, ".")
	s := w.resolve(c.sym)
	if full, ok := w.alias[s]; ok {
		root = full
	} else if w.syms[s].scope != 0 && w.syms[s].flags&isBound != 0 {
		return "", false
	} else if full, ok := commonAliases[root]; ok {
		root = full
	}
	if rest == "" {
		return root, true
	}
	return root + "." + rest, true
}

// written returns the dotted name at node i. A leftmost part that is not a name reads as "".
func (w *walker) written(i uint32) string {
	if text := w.src(i); w.sym(i) == p.Identifier || isDotted(text) {
		return text
	}
	var parts []string
	for w.sym(i) == p.Attribute {
		parts = append(parts, w.src(w.nodes[i].Next-1))
		i = w.child(i)
	}
	if w.sym(i) == p.Identifier {
		parts = append(parts, w.src(i))
	} else {
		parts = append(parts, "")
	}
	var b strings.Builder
	for n := len(parts) - 1; n >= 0; n-- {
		b.WriteString(parts[n])
		if n > 0 {
			b.WriteByte('.')
		}
	}
	return b.String()
}

func isDotted(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c != '.' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c < 0x80 {
			return false
		}
	}
	return true
}

// resolveChains turns the chains of the block into effects and dynamic constructs of its nodes.
func (w *walker) resolveChains() {
	for _, c := range w.chains {
		dotted, ok := w.meaning(c)
		if !ok {
			continue
		}
		if what := w.dynamicChain(c, dotted); what != "" {
			w.addDynamic(c.node, what, w.nodes[c.tree].Start, c.timing)
		}
		if kind, ok := effectOf(dotted, w.written(c.tree), c.called); ok {
			e := depgraph.Effect{
				Kind: kind, What: strings.TrimPrefix(w.written(c.tree), "."), Arg: w.argument(c),
				Line: w.line(w.nodes[c.tree].Start), Later: c.timing == later,
			}
			e.Key, e.Mode = accessOf(e)
			n := &w.facts.Nodes[c.node]
			n.Effects = append(n.Effects, e)
		}
	}
}

// effectOf classifies the use of a dotted name, given in full and as written.
func effectOf(dotted, written string, called bool) (depgraph.EffectKind, bool) {
	for prefix := dotted; ; {
		if kind, ok := effectValues[prefix]; ok {
			return kind, true
		}
		n := strings.LastIndexByte(prefix, '.')
		if n < 0 {
			break
		}
		prefix = prefix[:n]
		if kind, ok := effectModules[prefix]; ok && called {
			return kind, true
		}
	}
	if !called {
		return "", false
	}
	if kind, ok := effectCalls[dotted]; ok {
		return kind, true
	}
	if n := strings.LastIndexByte(written, '.'); n >= 0 {
		kind, ok := effectMethods[written[n+1:]]
		return kind, ok
	}
	return "", false
}

// argument returns the string literal that a chain is called or indexed with, or the argument of Path("…") at its left
// end.
func (w *walker) argument(c chain) string {
	if c.sym == noIndex {
		base := c.tree
		for w.sym(base) == p.Attribute {
			base = w.child(base)
		}
		if w.sym(base) == p.Call && strings.HasSuffix(w.src(w.child(base)), "Path") {
			return w.firstLiteral(base)
		}
	}
	if c.tree == 0 {
		return ""
	}
	switch parent := c.tree - 1; w.sym(parent) {
	case p.Call, p.Subscript:
		return w.firstLiteral(parent)
	}
	return ""
}

// firstLiteral returns the value of the first argument of a call or item if it is a plain string.
func (w *walker) firstLiteral(i uint32) string {
	arg := w.next(w.child(i))
	if w.sym(i) == p.Call {
		if w.sym(arg) != p.ArgumentList {
			return ""
		}
		arg++
	}
	arg++ // after the bracket
	if arg >= w.end(i) || w.sym(arg) != p.String || w.next(arg) != arg+1 {
		return ""
	}
	return literal(w.src(arg))
}

// literal returns the value of a plain string literal. It returns "" if more is needed than to remove the quotes.
func literal(text string) string {
	n := strings.IndexAny(text, "'\"")
	if n < 0 || strings.ContainsAny(text[:n], "bBfF") {
		return ""
	}
	raw := strings.ContainsAny(text[:n], "rR")
	text = text[n:]
	q := 1
	if len(text) >= 6 && text[0] == text[1] && text[1] == text[2] {
		q = 3
	}
	if len(text) < 2*q {
		return ""
	}
	text = text[q : len(text)-q]
	if !raw && strings.Contains(text, "\\") {
		return ""
	}
	return text
}
