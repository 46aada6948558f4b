package caches

import (
	"os"
	"path/filepath"
	"testing"
)

// home is a home folder that is not there.
const home = "/home/none"

func of(variables map[string]string) Folders {
	return Of(func(name string) string {
		if name == "HOME" {
			return home
		}
		return variables[name]
	})
}

func TestHold(t *testing.T) {
	for _, c := range []struct {
		name      string
		variables map[string]string
		path      string
		want      bool
	}{
		{"a library in use", nil, home + "/.cache/used/x/y", true},
		{"its folder", nil, home + "/.cache/used", true},
		{"its name in another form", nil, home + "/.cache/Us-ed/x", true},
		{"another library", nil, home + "/.cache/other/x", false},
		{"a file of a program's own", nil, home + "/.cache/used.json", false},
		{"the folder of caches", nil, home + "/.cache", false},
		{"a folder beside it", nil, home + "/.cache2/used/x", false},
		{"elsewhere", map[string]string{"XDG_CACHE_HOME": "/caches"}, "/caches/used/x", true},
		{"not there then", map[string]string{"XDG_CACHE_HOME": "/caches"}, home + "/.cache/used/x", false},
		{"a variable that is no folder", map[string]string{"XDG_CACHE_HOME": "x"}, home + "/.cache/used/x", true},

		{"fontconfig of the system", nil, "/var/cache/fontconfig/a.cache-8", true},
		{"another cache of the system", nil, "/var/cache/apt/x", false},
		{"fontconfig of the user", nil, home + "/.cache/fontconfig/a.cache-8", true},
		{"fonts of the user", nil, home + "/.fonts/a.ttf", false},
		{"settings of fontconfig", nil, home + "/.config/fontconfig/fonts.conf", false},
		{"the list of matplotlib", nil, home + "/.config/matplotlib/fontlist-v390.json", true},
		{"its lock", nil, home + "/.config/matplotlib/fontlist-v390.json.matplotlib-lock", true},
		{"settings of matplotlib", nil, home + "/.config/matplotlib/matplotlibrc", false},
		{"styles of matplotlib", nil, home + "/.config/matplotlib/stylelib/a.mplstyle", false},
		{"the folder of both", nil, home + "/.config/matplotlib", false},
		{"the list, named", map[string]string{"MPLCONFIGDIR": "/m[1]"}, "/m[1]/fontlist-v390.json", true},
		{"settings, named", map[string]string{"MPLCONFIGDIR": "/m[1]"}, "/m[1]/matplotlibrc", false},
		{"a name that is no pattern", map[string]string{"MPLCONFIGDIR": "/m[1]"}, "/m1/fontlist-v390.json", false},
		{"numba", map[string]string{"NUMBA_CACHE_DIR": "/n"}, "/n/a/b.nbi", true},
		{"a model", nil, home + "/.cache/huggingface/hub/models--a/refs/main", true},
		{"a token", nil, home + "/.cache/huggingface/token", false},
		{"settings of accelerate", nil, home + "/.cache/huggingface/accelerate/default_config.yaml", false},
		{"code of a model", nil, home + "/.cache/huggingface/modules/a/b.py", false},
		{"models, named", map[string]string{"HF_HOME": "/hf"}, "/hf/hub/models--a/blobs/1", true},
		{"a token, named", map[string]string{"HF_HOME": "/hf"}, "/hf/token", false},
		{"compiled kernels", nil, "/tmp/torchinductor_user/ab/c.py", true},
		{"compiled kernels of triton", nil, home + "/.triton/cache/a", true},
		{"compiled for a graphics card", nil, home + "/.nv/ComputeCache/index", true},
		{"shaders of Qt", nil, home + "/.cache/qtshadercache-x86_64-little_endian-lp64/a", true},
		{"state of Qt", nil, home + "/.config/QtProject.conf", true},
		{"Node's code", map[string]string{"NODE_COMPILE_CACHE": "/node"}, "/node/v22/a.cache", true},
		{"packages of Node", nil, home + "/.npm/_cacache/index-v5/a", true},
		{"settings of npm", nil, home + "/.npmrc", false},
		{"modules of Go", nil, home + "/go/pkg/mod/cache/download/a", true},
		{"programs of Go", nil, home + "/go/bin/a", false},
		{"modules of Go, named", map[string]string{"GOPATH": "/gopath"}, "/gopath/pkg/mod/a", true},
		{"a variable that is the root", map[string]string{"NUMBA_CACHE_DIR": "/"}, "/data.csv", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := of(c.variables).Hold(c.path, func(plain string) bool { return plain == "used" })
			if got != c.want {
				t.Errorf("Hold(%s) = %t, want %t", c.path, got, c.want)
			}
		})
	}
}

// TestBase: of a folder above caches and settings, it says nothing that it is there.
func TestBase(t *testing.T) {
	f := of(map[string]string{"XDG_CONFIG_HOME": "/config"})
	for path, want := range map[string]bool{
		home + "/.cache": true, "/config": true, home + "/.local/share": true, home: false, "/": false,
		home + "/.cache/x": false,
	} {
		if got := f.Base(path); got != want {
			t.Errorf("Base(%s) = %t, want %t", path, got, want)
		}
	}
}

// TestLinks: a folder of caches counts under both of its names where it is a link.
func TestLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	f := of(map[string]string{"XDG_CACHE_HOME": filepath.Join(dir, "link"), "HF_HOME": filepath.Join(dir, "link")})
	for _, path := range []string{"link/numba/a", "real/numba/a", "link/hub/a", "real/hub/a"} {
		if !f.Hold(filepath.Join(dir, path), func(string) bool { return false }) {
			t.Errorf("Hold(%s) = false, want true", path)
		}
	}
}
