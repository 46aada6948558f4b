package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Trust adds a folder to the user's file however the list is written, and keeps all else that is there. What it cannot
// write it refuses, and a second time adds nothing.
func TestTrust(t *testing.T) {
	for _, c := range []struct{ before, want string }{
		{"", "[sandbox]\ntrust = [\"/w/new\"]\n"},
		{"# mine\n[files]\nread = [\"/data\"]",
			"# mine\n[files]\nread = [\"/data\"]\n\n[sandbox]\ntrust = [\"/w/new\"]\n"},
		{"[sandbox] # bounds\nlevel = \"strict\"\n", "[sandbox] # bounds\ntrust = [\"/w/new\"]\nlevel = \"strict\"\n"},
		{"[sandbox]\nlevel = \"strict\"\ntrust = [\n  # old ones\n  \"/w/old\",\n]\n",
			"[sandbox]\nlevel = \"strict\"\ntrust = [\n  # old ones\n  \"/w/new\", \"/w/old\",\n]\n"},
		{"[sandbox]\ntrust = [ ]\n", "[sandbox]\ntrust = [ \"/w/new\"]\n"},
		{"sandbox.trust = ['/w/ö', \"/w/old\"]\n", "sandbox.trust = [\"/w/new\", '/w/ö', \"/w/old\"]\n"},
		{"sandbox = { trust = [\"/w/old\"] }\n", "sandbox = { trust = [\"/w/new\", \"/w/old\"] }\n"},
		{"sandbox.level = \"strict\"\n", ""},
		{"sandbox = { level = \"strict\" }\n", ""},
	} {
		file := filepath.Join(t.TempDir(), FileName)
		if err := os.WriteFile(file, []byte(c.before), 0o600); err != nil {
			t.Fatal(err)
		}
		text, already, err := Trust(file, "/home/u", "/w/new")
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), "sandbox.trust") {
				t.Errorf("Trust(%q) = %q, %v, want a refusal", c.before, text, err)
			}
			continue
		}
		if err != nil || already || string(text) != c.want {
			t.Errorf("Trust(%q) = %q, %v, %v, want %q", c.before, text, already, err, c.want)
			continue
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if again, already, err := Trust(file, "/home/u", "/w/new"); !already || err != nil || string(again) != c.want {
			t.Errorf("Trust(%q) = %q, %v, %v, want it to be there already", c.want, again, already, err)
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	text, _, err := Trust(none, "/home/u", `/w/a "b"`)
	if err != nil || !strings.Contains(string(text), `"/w/a \"b\""`) {
		t.Errorf("Trust of no file = %q, %v", text, err)
	}
}
