package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// platforms are those of a release.
var platforms = []string{"darwin_arm64", "darwin_amd64", "linux_arm64", "linux_amd64"}

// A releaseFolder has the archives of a release, their checksums, and what installs them.
type releaseFolder struct {
	folder, version string
}

// releaseWithInstallers makes a release whose archive for this platform has a program that runs.
func releaseWithInstallers(t *testing.T) releaseFolder {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the scripts of a release need GNU's tools")
	}
	r := releaseFolder{t.TempDir(), clientVersion(t)}
	programs := releasedPrograms(t)
	for _, platform := range platforms {
		program, err := os.ReadFile(filepath.Join(programs, platform, "xstate"))
		if err != nil {
			program = []byte(platform)
		}
		name := "xstate_v" + r.version + "_" + platform
		for path, content := range map[string]string{
			"xstate": string(program), "LICENSE": "", "licences/go/LICENSE": "", "man/xstate.1": "man",
			"completions/xstate.bash": "complete", "completions/_xstate": "", "completions/xstate.fish": "",
		} {
			file := filepath.Join(r.folder, name, path)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		ran(t, "tar", "-C", r.folder, "-czf", filepath.Join(r.folder, name+".tar.gz"), name)
	}
	ran(t, "../../.ci/installers", "v"+r.version, r.folder)
	ran(t, "sh", "-c", `cd "$0" && sha256sum *.tar.gz >checksums.txt`, r.folder)
	return r
}

// sums returns the checksums of the archives by platform.
func (r releaseFolder) sums(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(r.read(t, "checksums.txt")) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		name = strings.TrimPrefix(name, "xstate_v"+r.version+"_")
		found[strings.TrimSuffix(name, ".tar.gz")] = sum
	}
	return found
}

func (r releaseFolder) read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(r.folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestFormula reads the formula of a release as Homebrew would: each platform has the address and the checksum of its
// archive, and what the formula installs is there.
func TestFormula(t *testing.T) {
	t.Parallel()
	r := releaseWithInstallers(t)
	formula := r.read(t, "xstate.rb")
	names := map[string]string{"macos": "darwin", "linux": "linux", "arm": "arm64", "intel": "amd64"}
	parts := regexp.MustCompile(`on_(\w+) do|url "(.*)"|sha256 "(.*)"`)
	found := map[string]string{}
	var system, platform, address string
	for _, m := range parts.FindAllStringSubmatch(formula, -1) {
		switch {
		case m[1] == "macos" || m[1] == "linux":
			system = names[m[1]]
		case m[1] != "":
			platform = system + "_" + names[m[1]]
		case m[2] != "":
			address = strings.ReplaceAll(m[2], "#{version}", r.version)
		default:
			found[platform] = address + " " + m[3]
		}
	}
	want := map[string]string{}
	for platform, sum := range r.sums(t) {
		want[platform] = "https://github.com/xstate-engine/xstate/releases/download/v" + r.version + "/xstate_v" +
			r.version + "_" + platform + ".tar.gz " + sum
	}
	if diff := cmp.Diff(want, found); diff != "" || len(found) != len(platforms) {
		t.Errorf("archives in the formula (-want +got):\n%s", diff)
	}
	if !strings.Contains(formula, `version "`+r.version+`"`) || strings.Contains(formula, "@") {
		t.Errorf("the formula lacks its version:\n%s", formula)
	}
	installed := regexp.MustCompile(`install (?:Dir\[)?"(.*?)"`).FindAllStringSubmatch(formula, -1)
	if len(installed) < 5 {
		t.Errorf("the formula installs %d things", len(installed))
	}
	for _, m := range installed {
		if paths, _ := filepath.Glob(filepath.Join(r.folder, "xstate_*_linux_amd64", m[1])); len(paths) == 0 {
			t.Errorf("the archive lacks %s", m[1])
		}
	}
	if _, err := exec.LookPath("ruby"); err == nil {
		ran(t, "ruby", "-c", filepath.Join(r.folder, "xstate.rb"))
	}
}

// TestDevelopmentContainer installs the feature of a release from its folder. An archive that was exchanged is refused,
// and nothing is installed.
func TestDevelopmentContainer(t *testing.T) {
	t.Parallel()
	r := releaseWithInstallers(t)
	feature, prefix := t.TempDir(), t.TempDir()
	const name = "devcontainer-feature-xstate.tgz"
	if page := ciPageFile(t, ".devcontainer/devcontainer.json"); !strings.Contains(page, "/"+name+`": {}`) {
		t.Errorf("docs/ci.md does not use %s:\n%s", name, page)
	}
	ran(t, "tar", "-C", feature, "-xzf", filepath.Join(r.folder, name))
	about, err := os.ReadFile(filepath.Join(feature, "devcontainer-feature.json"))
	if err != nil || !strings.Contains(string(about), `"version": "`+r.version+`"`) {
		t.Errorf("devcontainer-feature.json: %v\n%s", err, about)
	}
	ran(t, filepath.Join(feature, "install.sh"), "file://"+r.folder, prefix)
	ran(t, filepath.Join(prefix, "bin/xstate"), "version")
	for _, name := range []string{"share/man/man1/xstate.1", "share/bash-completion/completions/xstate"} {
		if _, err := os.Stat(filepath.Join(prefix, name)); err != nil {
			t.Error(err)
		}
	}

	archive := filepath.Join(r.folder, "xstate_v"+r.version+"_linux_"+runtime.GOARCH+".tar.gz")
	if err := os.WriteFile(archive, []byte("another"), 0o644); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	said, err := exec.CommandContext(t.Context(), filepath.Join(feature, "install.sh"), "file://"+r.folder, empty).
		CombinedOutput()
	left, _ := os.ReadDir(empty)
	if err == nil || !strings.Contains(string(said), "is not the archive of this release") || len(left) > 0 {
		t.Errorf("another archive: %v, %s; installed %v", err, said, left)
	}
}

// TestDockerfile executes the step that unpacks the archive, with other folders.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	r := releaseWithInstallers(t)
	text, err := os.ReadFile("../../clients/docker/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, step, found := strings.Cut(string(text), "RUN --mount=type=bind,target=/mnt ")
	step, _, ends := strings.Cut(step, "\nUSER ")
	if !found || !ends {
		t.Fatalf("the Dockerfile has no step that uses its context, before that of the user:\n%s", text)
	}
	image := t.TempDir()
	ran(t, "mkdir", "-p", image+"/opt", image+"/usr/local/bin")
	step = strings.NewReplacer("/opt", image+"/opt", "/usr", image+"/usr").Replace(step)
	cmd := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", step)
	cmd.Dir = r.folder
	cmd.Env = append(os.Environ(), "VERSION=v"+r.version, "TARGETARCH="+runtime.GOARCH)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the step: %v\n%s", err, said)
	}
	ran(t, image+"/usr/local/bin/xstate", "version")
}
