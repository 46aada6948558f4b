package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEnviron: a bounded program has folders of its own for what it may not write elsewhere, under the same names each
// time.
func TestEnviron(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, work := filepath.Join(dir, "home"), filepath.Join(dir, "work")
	for _, folder := range []string{home, work} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	temp := folderName(work)
	caches := temp + cachesSuffix
	all := []string{"TMPDIR=" + temp, "XDG_CACHE_HOME=" + caches, "MPLCONFIGDIR=" + caches + "/matplotlib"}
	for _, c := range []struct {
		name    string
		bounds  *Bounds
		environ []string // beside HOME
		want    []string // beside it and environ
	}{
		{"no bounds", nil, nil, nil},
		{"bounds", &Bounds{}, nil, all},
		{"named by the user", &Bounds{}, []string{"XDG_CACHE_HOME=/c", "MPLCONFIGDIR=/m"}, all},
		{"named in the workspace", &Bounds{},
			[]string{"XDG_CACHE_HOME=" + work + "/c", "MPLCONFIGDIR=" + work + "/m"}, all[:1]},
		{"a model may be read", &Bounds{Read: []string{home + "/.cache/huggingface"}}, nil, []string{all[0], all[2]}},
		{"the home may be read", &Bounds{Read: []string{home}}, nil, []string{all[0], all[2]}},
		{"settings may be read", &Bounds{Read: []string{home + "/.config/matplotlib"}}, nil, all},
		{"settings may be written", &Bounds{Write: []string{home + "/.config"}}, nil, all[:2]},
		{"other settings", &Bounds{Write: []string{home + "/.config"}}, []string{"XDG_CONFIG_HOME=/c"}, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Spec{Folder: work, Bounds: c.bounds}
			environ := append([]string{"HOME=" + home}, c.environ...)
			got := s.Environ(environ)
			want := []string{"HOME=" + home}
			for _, pair := range c.environ { // those that stay
				if name, _, _ := strings.Cut(pair, "="); valueOf(c.want, name) == "" {
					want = append(want, pair)
				}
			}
			if d := cmp.Diff(append(want, c.want...), got); d != "" {
				t.Errorf("environment (-want +got):\n%s", d)
			}
		})
	}
}
