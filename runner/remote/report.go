package remote

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/keys"
)

// Report says which keys and which cache settings lead to on this machine, and what is wrong with them.
type Report struct {
	Address string `json:"address"`
	KeyFile string `json:"key_file,omitempty"`
	// Key is the id of the key that signs; "": nothing is uploaded, or the key is not made yet.
	Key     string   `json:"key,omitempty"`
	Trusted []string `json:"trusted"` // ids of the keys that are trusted beside it
	// Workers is where nodes are executed with RunOptions.RemoteJobs: an address or a command; "": there are none.
	Workers string `json:"workers,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// reportTime bounds how long Describe waits for a server.
const reportTime = 2 * time.Second

// Describe reports on settings. It changes nothing: it makes neither a key nor a folder.
func Describe(ctx context.Context, s Settings) Report {
	r := Report{Address: s.Address, Trusted: []string{},
		Workers: cmp.Or(s.Executor, strings.Join(s.Launcher, " "))}
	if err := r.keys(&s); err != nil {
		r.Problem = err.Error()
	} else if err := answers(ctx, &s); err != nil {
		r.Problem = err.Error()
	}
	return r
}

func (r *Report) keys(s *Settings) error {
	trusted, err := s.trusted()
	if err != nil {
		return err
	}
	for _, key := range trusted {
		r.Trusted = append(r.Trusted, keys.ID(key))
	}
	if r.KeyFile = s.Key; s.ReadOnly {
		return nil
	}
	if _, err := os.Stat(s.Key); s.OwnKey && errors.Is(err, fs.ErrNotExist) {
		return nil // the first run makes it
	}
	key, err := readKey("remote.key", s.Key, keys.Private)
	if err != nil {
		return err
	}
	r.Key = keys.ID(key.Public().(ed25519.PublicKey))
	return nil
}

// answers fails unless a store answers in time. A folder may still be made.
func answers(ctx context.Context, s *Settings) error {
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- look(ctx, s) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done(): // a folder on a shared disk may hang
		return errSlow
	}
}

func look(ctx context.Context, s *Settings) error {
	if !strings.Contains(s.Address, "://") {
		_, err := os.ReadDir(s.Address)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	store, err := openStore(s)
	if err != nil {
		return err
	}
	_, err = store.Records(ctx, []state.Digest{keysName(entry{}, 0)})
	return errors.Join(err, store.Close())
}
