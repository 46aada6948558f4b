package remote

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/keys"
)

// With returns the settings for an environment, which holds the token, or the credentials for a bucket.
func (s Settings) With(getenv func(string) string) Settings {
	s.getenv = getenv
	if s.Server.Token != "" {
		s.Server.Token = getenv(s.Server.Token)
	}
	return s
}

// ErrUnavailable reports that a cache cannot be opened now. A run does without it.
var ErrUnavailable = errors.New("the cache cannot be used")

// Settings say which cache is used, and whom to believe. Paths are absolute.
type Settings struct {
	Address  string   // a path of a folder, grpc://HOST:PORT or s3://BUCKET
	Key      string   // the file of the key that signs
	OwnKey   bool     // Key is this user's own, and is made if it does not exist
	Trusted  []string // files of public keys
	ReadOnly bool     // nothing is uploaded
	Server   Server   // for an address grpc:// or grpcs://
	// Believed are public keys beside those of Trusted.
	Believed []ed25519.PublicKey
	// Executor is the address of a server that executes nodes, and Launcher a command that has one executed, with
	// {action} and {cache} in its arguments. At most one of them is set. Platform has the properties that a worker of
	// Executor must have.
	Executor string
	Launcher []string
	Platform map[string]string
	// Wait bounds how long the end of a session waits for uploads; 0: about as long as it waits for its own store.
	Wait time.Duration

	getenv func(string) string // see With
}

// Open opens a cache. local is where blobs come from and go to. A run does without a cache that cannot be
// opened (ErrUnavailable).
func Open(s Settings, local *state.Store) (*Cache, error) {
	o := Options{Address: s.Address, Local: local}
	var err error
	if o.Key, err = s.key(); err != nil {
		return nil, err
	}
	if o.Trusted, err = s.trusted(); err != nil {
		return nil, err
	}
	if o.Store, err = openStore(&s); err != nil {
		return nil, err
	}
	return New(o), nil
}

// key returns the key that signs; nil if nothing is uploaded.
func (s *Settings) key() (ed25519.PrivateKey, error) {
	if s.ReadOnly {
		return nil, nil
	}
	if s.OwnKey {
		return keys.Own(s.Key)
	}
	return readKey("remote.key", s.Key, keys.Private)
}

// trusted returns the keys that are believed beside the user's own.
func (s *Settings) trusted() (trusted []ed25519.PublicKey, err error) {
	trusted = slices.Clone(s.Believed)
	for _, path := range s.Trusted {
		key, err := readKey("remote.trust", path, keys.Public)
		if err != nil {
			return nil, err
		}
		trusted = append(trusted, key)
	}
	return trusted, nil
}

// readKey reads a key that a setting names.
func readKey[K any](setting, path string, read func([]byte) (K, error)) (key K, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return key, &state.Error{Code: keys.CodeUnusable, Err: err,
			Message: fmt.Sprintf("%s: the key cannot be read: %v", setting, err),
			Hint:    "name a file that this user can read, in the settings of the user"}
	}
	if key, err = read(text); err != nil {
		return key, fmt.Errorf("%s: %s: %w", setting, path, err)
	}
	return key, nil
}

// openStore opens the store at an address.
func openStore(s *Settings) (Store, error) {
	if !strings.Contains(s.Address, "://") {
		return openFolder(s.Address), nil
	}
	open := func() (Store, error) { return openServer(s.Address, s.Server) }
	if IsBucket(s.Address) {
		open = func() (Store, error) { return openBucket(s.Address, s.getenv) }
	}
	store, err := open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return store, nil
}
