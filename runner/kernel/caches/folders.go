package caches

import (
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Folders are the folders of caches that an environment gives. All paths are absolute, with and without the symbolic
// links in them.
type Folders struct {
	// Roots hold a folder for each library or tool.
	Roots []string `json:"roots"`
	// Bases are folders whose existence says nothing. Code that makes one makes those above it.
	Bases []string `json:"bases"`
	Known []Known  `json:"known"`
	// Settings are patterns of files in caches that people and programs write to say what they want.
	Settings []string `json:"settings"`
}

// Known is a cache that its owners keep under another name, or elsewhere. A pattern is as of path.Match, and means all
// that is below what it matches as well.
type Known struct {
	Owners   []string `json:"owners"` // libraries, by the names of their packages; none: tools alone
	Patterns []string `json:"patterns"`
}

// known has the caches that Known gets. A pattern begins with a variable, with ~ for the home folder, with a slash, or
// with a name in a root. Patterns of a variable that is not set have no effect.
var known = []Known{
	{nil, []string{"fontconfig", "/var/cache/fontconfig", "~/.fontconfig"}},
	{[]string{"matplotlib", "mpl_toolkits"}, []string{"matplotlib",
		"$MPLCONFIGDIR/fontlist-*.json*", "$MPLCONFIGDIR/tex.cache",
		"$XDG_CONFIG_HOME/matplotlib/fontlist-*.json*", "$XDG_CONFIG_HOME/matplotlib/tex.cache",
		"~/.config/matplotlib/fontlist-*.json*", "~/.config/matplotlib/tex.cache",
		"~/.matplotlib/fontlist-*.json*", "~/.matplotlib/tex.cache"}},
	{[]string{"numba"}, []string{"numba", "$NUMBA_CACHE_DIR"}},
	{[]string{"huggingface_hub", "transformers", "datasets", "tokenizers", "diffusers", "accelerate", "evaluate",
		"peft", "safetensors", "sentence_transformers", "timm"},
		[]string{"huggingface", "$HF_HOME/hub", "$HF_HOME/datasets", "$HF_HOME/xet", "$HF_HOME/assets", "$HF_HUB_CACHE",
			"$HUGGINGFACE_HUB_CACHE", "$HF_DATASETS_CACHE", "$HF_XET_CACHE", "$HF_ASSETS_CACHE",
			"$TRANSFORMERS_CACHE"}},
	{[]string{"torch", "torchvision", "torchaudio", "torchtext", "triton"},
		[]string{"torch", "torch_extensions", "$TORCH_HOME", "$TORCHINDUCTOR_CACHE_DIR", "$TORCH_EXTENSIONS_DIR",
			"/tmp/torchinductor_*", "~/.triton/cache", "$TRITON_CACHE_DIR"}},
	{[]string{"jax", "jaxlib"}, []string{"$JAX_COMPILATION_CACHE_DIR"}},
	{[]string{"cupy", "cupy_backends", "numba", "torch"}, []string{"nvidia", "~/.nv", "$CUDA_CACHE_PATH",
		"~/.cupy/kernel_cache", "$CUPY_CACHE_DIR"}},
	{[]string{"sklearn"}, []string{"scikit-learn"}},
	{[]string{"skimage", "pooch"}, []string{"scikit-image"}},
	{[]string{"PyQt5", "PyQt6", "PySide2", "PySide6"}, []string{"qtshadercache*", "qtpipelinecache*",
		"~/.config/QtProject.conf", "~/.config/QtProject.conf.*"}},
	{nil, []string{"mesa_shader_cache*", "radv_builtin_shaders*", "$MESA_SHADER_CACHE_DIR", "gstreamer-1.0", "dconf",
		"thumbnails"}},
	{nil, []string{"ccache", "~/.ccache", "$CCACHE_DIR", "sccache", "$SCCACHE_DIR", "clang"}},
	{nil, []string{"go-build", "$GOCACHE", "~/go/pkg/mod", "$GOPATH/pkg/mod", "$GOMODCACHE"}},
	{nil, []string{"~/.cargo/registry", "~/.cargo/git", "$CARGO_HOME/registry", "$CARGO_HOME/git"}},
	{nil, []string{"pip", "$PIP_CACHE_DIR", "uv", "$UV_CACHE_DIR", "pypoetry", "pre-commit"}},
	{nil, []string{"$NODE_COMPILE_CACHE", "node-gyp", "node/corepack", "~/.npm/_cacache", "~/.npm/_logs", "yarn",
		"~/.yarn/berry/cache", "pnpm", "deno", "$DENO_DIR", "~/.bun/install/cache"}},
}

// settings has the files that Settings gets, in the form of known.
var settings = []string{
	"huggingface/token", "huggingface/stored_tokens", "huggingface/accelerate", "huggingface/modules",
}

// Of returns the folders of caches that an environment gives.
func Of(getenv func(name string) string) Folders {
	p := places{getenv: getenv, home: getenv("HOME")}
	config, data := p.absolute("XDG_CONFIG_HOME"), p.absolute("XDG_DATA_HOME")
	root := p.absolute("XDG_CACHE_HOME")
	var bases []string
	if filepath.IsAbs(p.home) {
		if root == "" {
			root = filepath.Join(p.home, ".cache")
		}
		for _, name := range []string{".config", ".local", ".local/share"} {
			bases = append(bases, filepath.Join(p.home, name))
		}
	}
	p.roots = both(root)
	if runtime.GOOS == "darwin" && filepath.IsAbs(p.home) {
		p.roots = append(p.roots, both(filepath.Join(p.home, "Library", "Caches"))...)
	}
	f := Folders{Roots: p.roots, Bases: both(append(bases, config, data)...), Settings: p.patterns(settings)}
	f.Bases = append(f.Bases, f.Roots...)
	for _, k := range known {
		f.Known = append(f.Known, Known{Owners: append([]string{}, k.Owners...), Patterns: p.patterns(k.Patterns)})
	}
	return f
}

// places resolves the patterns of known.
type places struct {
	getenv func(string) string
	home   string
	roots  []string
}

// absolute returns the value of a variable that names a folder; "" if it does not.
func (p places) absolute(name string) string {
	if value := p.getenv(name); filepath.IsAbs(value) && filepath.Clean(value) != "/" {
		return filepath.Clean(value)
	}
	return ""
}

// patterns returns the patterns with absolute paths. Paths from the environment are not patterns.
func (p places) patterns(list []string) []string {
	found := []string{}
	for _, text := range list {
		first, rest, _ := strings.Cut(text, "/")
		var folders []string
		switch {
		case first == "":
			folders, rest = []string{"/"}, text
		case first == "~" && filepath.IsAbs(p.home):
			folders = both(p.home)
		case first == "~":
		case strings.HasPrefix(first, "$"):
			folders = both(p.absolute(first[1:]))
		default:
			folders, rest = p.roots, text
		}
		for _, folder := range folders {
			found = append(found, path.Join(quoted(folder), rest))
		}
	}
	return found
}

// quoted returns a pattern that matches one path.
func quoted(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// both returns folders with the symbolic links in their paths, and without.
func both(folders ...string) []string {
	found := []string{}
	for _, folder := range folders {
		if folder == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(folder)
		if err != nil {
			real = folder
			if parent, err := filepath.EvalSymlinks(filepath.Dir(folder)); err == nil { // it is made later
				real = filepath.Join(parent, filepath.Base(folder))
			}
		}
		for _, name := range []string{folder, real} {
			if !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	return found
}

// Base reports whether it says nothing that a folder is there.
func (f Folders) Base(name string) bool { return slices.Contains(f.Bases, name) }

// Hold reports whether a file is in the cache of a library or tool, by whichever code uses it. owns reports whether a
// library or tool with such a name is in use, see Plain.
func (f Folders) Hold(name string, owns func(plain string) bool) bool {
	if matchesAny(f.Settings, name) {
		return false
	}
	for _, k := range f.Known {
		if matchesAny(k.Patterns, name) {
			return true
		}
	}
	for _, root := range f.Roots {
		if rest, ok := strings.CutPrefix(name, root+"/"); ok {
			first, _, below := strings.Cut(rest, "/")
			return (below || filepath.Ext(first) == "") && owns(Plain(first))
		}
	}
	return false
}

// Plain returns the name of a library, a tool or its folder in the form in which they are compared: scikit-learn and
// scikit_learn are one name.
func Plain(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
}

// matchesAny reports whether a path, or a folder above it, matches one of the patterns.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		parts := strings.SplitAfterN(name, "/", strings.Count(pattern, "/")+2)
		above := strings.TrimSuffix(strings.Join(parts[:min(len(parts), strings.Count(pattern, "/")+1)], ""), "/")
		ok, _ := path.Match(pattern, above)
		return ok
	})
}
