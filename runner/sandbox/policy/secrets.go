package policy

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xstate-engine/xstate/runner/sandbox"
	"github.com/xstate-engine/xstate/runner/sandbox/proxy"
	"github.com/xstate-engine/xstate/runner/sandbox/secret"
	"github.com/xstate-engine/xstate/state"
)

// keyFile holds what makes the digests of a user's secrets, beside the user's policy file.
const keyFile = "secrets.key"

// SecretsOf returns the secrets of the policy, and those that the sources of tools need, with the values that they have
// in an environment. One that is not set there is none.
func (p *Policy) SecretsOf(environ []string) (*secret.Set, error) {
	if p == nil {
		return nil, nil
	}
	values := map[string]string{}
	names := append(p.Calls.Variables(), p.Secrets...)
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || !slices.Contains(names, name) {
			continue
		}
		if len(strings.TrimSpace(value)) < secret.LeastLength {
			return nil, &state.Error{
				Code: CodeInvalid,
				Message: fmt.Sprintf("the secret %s has fewer than %d characters, so it cannot be told from other text",
					name, secret.LeastLength),
				Hint: "use a longer one, or take it out of xstate.toml",
			}
		}
		values[name] = value
	}
	if len(values) == 0 {
		return nil, nil
	}
	key, err := p.Key()
	if err != nil {
		return nil, err
	}
	return secret.New(values, key), nil
}

// Key returns the key of the user for digests of what must not be guessed, see userKey.
func (p *Policy) Key() ([]byte, error) { return userKey(p.user) }

// Authority returns the authority of the user, whose certificates a program with an environment is to trust where its
// requests are recorded.
func (p *Policy) Authority(environ func(string) string) (*sandbox.Authority, error) {
	cache, err := os.UserCacheDir()
	if err == nil && p.user == "" {
		err = errors.New("the user has no folder for configuration")
	}
	var a *sandbox.Authority
	if err == nil {
		a, err = proxy.OpenAuthority(filepath.Dir(p.user), filepath.Join(cache, "xstate"), environ("SSL_CERT_FILE"))
	}
	if err != nil {
		return nil, &state.Error{Code: CodeInvalid, Message: "the network cannot be recorded: " + err.Error(),
			Hint: "set HOME, or run without `--record-network`", Err: err}
	}
	return a, nil
}

// userKey returns the key of the user, which it makes at the first use. Without a folder for it there is a new one each
// time: a block that reads a secret then runs in each run.
func userKey(userFile string) ([]byte, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil || userFile == "" {
		return key, err
	}
	folder := filepath.Dir(userFile)
	name := filepath.Join(folder, keyFile)
	for range 2 {
		if found, err := os.ReadFile(name); err == nil && len(found) == len(key) {
			return found, nil
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the key for digests of secrets: %w", err)
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return key, nil
		}
		f, err := os.CreateTemp(folder, keyFile+"-*") // CreateTemp lets only the user read it
		if err != nil {
			return key, nil
		}
		_, err = f.Write(key)
		if err = errors.Join(err, f.Close()); err == nil {
			err = os.Link(f.Name(), name) // another process may have made one
		}
		_ = os.Remove(f.Name())
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("keep the key for digests of secrets: %w", err)
		}
	}
	return nil, fmt.Errorf("the key for digests of secrets is damaged: remove %s", name)
}
