package state

import (
	"context"
	"fmt"
	"iter"
	"sort"
	"time"

	"go.etcd.io/bbolt"
)

// Steps reads steps in pages, so that no transaction is open while the caller works. The first page is small, for a
// caller that stops at the next step of some kind; each page doubles.
const (
	firstPageSize = 8
	maxPageSize   = 128
)

// Step returns one step of a session with its changes.
func (s *Store) Step(ctx context.Context, session string, n StepNumber) (step Step, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		l, head, err := s.find(tx, session)
		if err != nil {
			return err
		}
		if n == 0 || n > head.Step {
			return noStep(session, n, head.Step)
		}
		h, p, hash, err := s.readStep(tx, l, n)
		if err != nil {
			return err
		}
		if DigestOf(p.body) != h.Body {
			return badStep(l, n, errSeal)
		}
		step = h.step(hash)
		if step.Changes, err = p.body.changes(n); err != nil {
			return badStep(l, n, err)
		}
		return nil
	})
	return step, err
}

// HasStep reports whether a session has a step with this hash, after its fork. Step 0 has the hash of the creation
// record.
func (s *Store) HasStep(ctx context.Context, session string, n StepNumber, hash Digest) (has bool, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		l, head, err := s.find(tx, session)
		if err != nil || n < l.forkStep() || n > head.Step {
			return err
		}
		own := l.hash
		if n > l.forkStep() {
			_, _, own, err = s.readStep(tx, l, n)
		}
		has = err == nil && own == hash
		return err
	})
	return has, err
}

// Steps yields steps from through to in order, without their changes. If to is beyond the head, it stops at the head.
// After an error it ends.
func (s *Store) Steps(ctx context.Context, session string, from, to StepNumber) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		size := firstPageSize
		for n := max(from, 1); n <= to; size = min(2*size, maxPageSize) {
			page, end, err := s.readPage(ctx, session, n, to, size)
			for _, step := range page {
				if !yield(step, nil) {
					return
				}
			}
			if err != nil {
				yield(Step{}, err)
				return
			}
			if end {
				return
			}
			n += StepNumber(len(page))
		}
	}
}

// readPage reads up to size steps in one transaction. end reports that the page ends at to or at the head.
func (s *Store) readPage(
	ctx context.Context,
	session string,
	from, to StepNumber,
	size int,
) (page []Step, end bool, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		l, head, err := s.find(tx, session)
		if err != nil {
			return err
		}
		to = min(to, head.Step)
		for n := from; n <= to && len(page) < size; n++ {
			h, _, hash, err := s.readStep(tx, l, n)
			if err != nil {
				return err
			}
			page = append(page, h.step(hash))
		}
		end = from+StepNumber(len(page)) > to
		return nil
	})
	return page, end, err
}

// StepWithHash returns the session and step with this hash; step 0 means that the hash is that of the session's
// creation record. For a step that several sessions share, it returns the session in which the step was made. If no
// step has the hash, the error has CodeNoStep: a statement that cites it is about another history.
func (s *Store) StepWithHash(ctx context.Context, hash Digest) (session string, n StepNumber, err error) {
	all, err := s.Sessions(ctx)
	if err != nil {
		return "", 0, err
	}
	for _, x := range all {
		if x.Hash == hash {
			return x.Name, x.Head, nil
		}
	}
	for _, x := range all {
		first := StepNumber(1)
		if x.From != nil {
			first = x.From.Step + 1
		}
		for step, err := range s.Steps(ctx, x.Name, first, x.Head) {
			if err != nil {
				return "", 0, err
			}
			if step.Hash == hash {
				return x.Name, step.Number, nil
			}
			if step.Number == first && step.Prev == hash {
				return x.Name, 0, nil
			}
		}
	}
	return "", 0, &Error{
		Code:    CodeNoStep,
		Message: fmt.Sprintf("no step has the hash %s", hash),
		Hint:    "`xstate log --json` shows the hashes of steps",
	}
}

// StepBefore returns the last step committed at or before t; 0 if there is none. It is a binary search, because time
// does not go back within a session (invariant 4).
func (s *Store) StepBefore(ctx context.Context, session string, t time.Time) (n StepNumber, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		l, head, err := s.find(tx, session)
		if err != nil {
			return err
		}
		var failed error
		n = StepNumber(sort.Search(int(head.Step), func(i int) bool {
			h, _, _, err := s.readStep(tx, l, StepNumber(i+1))
			if err != nil {
				failed = err
			}
			return h.Time > t.UnixNano()
		}))
		return failed
	})
	return n, err
}
