package xstate

import (
	"github.com/xstate-engine/xstate/runner/journal/web"
	"github.com/xstate-engine/xstate/runner/kernel"
	"github.com/xstate-engine/xstate/runner/sandbox/policy"
)

// webOf returns what makes calls of the requests of a program; nil where its policy does not record them.
func webOf(p *policy.Policy) (*web.Source, error) {
	if !p.Records() {
		return nil, nil
	}
	key, err := p.Key()
	if err != nil {
		return nil, err
	}
	return web.New(web.Options{Key: key, Tools: p.Calls.Tools, Models: p.Calls.Models}), nil
}

// recording says how an engine records the requests of the program; nil: it does not.
func (s *Session) recording() (*kernel.Recording, error) {
	if s.web == nil {
		return nil, nil
	}
	authority, err := s.options.Policy.Authority(func(name string) string {
		return kernel.Getenv(s.options.Environ, name)
	})
	if err != nil {
		return nil, err
	}
	return &kernel.Recording{Authority: authority, Exchange: s.web.Exchange}, nil
}
