package state

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// TestTampering changes history in ways that keep every record well-formed. Check names the first bad step.
func TestTampering(t *testing.T) {
	const session = sessionID(1)
	at := func(tx *bbolt.Tx, n StepNumber) (stepHeader, packedStep) {
		key := stepKey(session, n)
		h, p, _, err := openStep(key, n, bytes.Clone(tx.Bucket(bucketSteps).Get(key)))
		if err != nil {
			t.Fatal(err)
		}
		return h, p
	}
	put := func(tx *bbolt.Tx, h stepHeader, b body) error {
		key := stepKey(session, h.Number)
		h.Body = DigestOf(b)
		return tx.Bucket(bucketSteps).Put(key, packStep(key, encode(h), b))
	}
	tests := []struct {
		name      string
		change    func(tx *bbolt.Tx) error
		step      StepNumber // 0: not of one step
		invariant int
	}{
		{"change the origin", func(tx *bbolt.Tx) error {
			h, p := at(tx, 5)
			h.Origin = &Origin{Agent: "somebody else"}
			return put(tx, h, p.body)
		}, 6, 4},
		{"change the last step", func(tx *bbolt.Tx) error {
			h, p := at(tx, 10)
			h.Origin = &Origin{Agent: "somebody else"}
			return put(tx, h, p.body)
		}, 10, 4},
		{"change the changes alone", func(tx *bbolt.Tx) error {
			h, p := at(tx, 5)
			key := stepKey(session, 5)
			other := packBody(5, []Change{{Op: OpDelete, ID: "b1"}})
			_ = h
			return tx.Bucket(bucketSteps).Put(key, packStep(key, p.header, other))
		}, 5, 5},
		{"change the changes and their digest", func(tx *bbolt.Tx) error {
			h, _ := at(tx, 5)
			return put(tx, h, packBody(5, []Change{{Op: OpDelete, ID: "b1"}}))
		}, 5, 8},
		{"drop a step", func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketSteps).Delete(stepKey(session, 5))
		}, 5, 3},
		{"drop the last step", func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketSteps).Delete(stepKey(session, 10))
		}, 10, 3},
		{"drop the last step and move the head", func(tx *bbolt.Tx) error {
			var head headRecord
			if err := getRecord(tx, bucketHeads, session.key(), &head); err != nil {
				return err
			}
			head.Step = 9
			if err := putRecord(tx, bucketHeads, session.key(), head); err != nil {
				return err
			}
			return tx.Bucket(bucketSteps).Delete(stepKey(session, 10))
		}, 9, 4},
		{"reorder two steps", func(tx *bbolt.Tx) error {
			h5, p5 := at(tx, 5)
			h6, p6 := at(tx, 6)
			h5.Number, h6.Number = 6, 5
			c5, _ := p5.body.changes(5)
			c6, _ := p6.body.changes(6)
			if err := put(tx, h5, packBody(6, c5)); err != nil {
				return err
			}
			return put(tx, h6, packBody(5, c6))
		}, 5, 4},
		{"swap two records", func(tx *bbolt.Tx) error {
			b := tx.Bucket(bucketSteps)
			v5, v6 := bytes.Clone(b.Get(stepKey(session, 5))), bytes.Clone(b.Get(stepKey(session, 6)))
			if err := b.Put(stepKey(session, 5), v6); err != nil {
				return err
			}
			return b.Put(stepKey(session, 6), v5)
		}, 5, 3},
		{"insert a step after the head", func(tx *bbolt.Tx) error {
			h, p := at(tx, 10)
			h.Number = 11
			return put(tx, h, p.body)
		}, 11, 3},
		{"insert a step and renumber the rest", func(tx *bbolt.Tx) error {
			for n := StepNumber(10); n > 5; n-- {
				h, p := at(tx, n)
				h.Number++
				c, _ := p.body.changes(n)
				if err := put(tx, h, packBody(n+1, c)); err != nil {
					return err
				}
			}
			h, _ := at(tx, 5)
			return put(
				tx,
				stepHeader{Number: 6, Time: h.Time, Kind: KindDeclare, Prev: DigestOf(at5(t, tx, session))},
				packBody(6, nil),
			)
		}, 7, 4}, // step 6 is well made; that step 7 does not follow from it gives it away
		{"change the birth", func(tx *bbolt.Tx) error {
			var r sessionRecord
			if err := getRecord(tx, bucketSessions, []byte("s"), &r); err != nil {
				return err
			}
			var birth creationRecord
			if err := decode(r.Creation, &birth); err != nil {
				return err
			}
			birth.Seed++
			r.Creation = encode(birth)
			return putRecord(tx, bucketSessions, []byte("s"), r)
		}, 1, 4},
		{"drop a source", func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketSources).Delete(DigestOf([]byte("x4 = 1+1+1+1+0")).key())
		}, 5, 6},
		{"change a source", func(tx *bbolt.Tx) error {
			key := DigestOf([]byte("x4 = 1+1+1+1+0")).key()
			return tx.Bucket(bucketSources).Put(key, seal(bucketSources, key, pack([]byte("x4 = 5"))))
		}, 5, 6},
		{"change an index", func(tx *bbolt.Tx) error {
			k, _ := tx.Bucket(bucketIndexes).Cursor().First()
			payload, err := unseal(bucketIndexes, k, tx.Bucket(bucketIndexes).Get(k))
			if err != nil {
				return err
			}
			x, err := decodeIndex(payload)
			if err != nil {
				return err
			}
			x.order[0], x.order[1] = x.order[1], x.order[0]
			return putIndex(tx, bytes.Clone(k), x)
		}, ^StepNumber(0), 7},
		{"drop an index", func(tx *bbolt.Tx) error {
			k, _ := tx.Bucket(bucketIndexes).Cursor().First()
			return tx.Bucket(bucketIndexes).Delete(k)
		}, ^StepNumber(0), 7},
		{"drop the head", func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketHeads).Delete(session.key())
		}, 0, 2},
		{"drop the session", func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketSessions).Delete([]byte("s"))
		}, 0, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := tamperable(t)
			edit(t, filepath.Join(dir, historyFile), test.change)
			s, err := Open(ctx, dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			problems, err := s.Check(ctx)
			if err != nil || len(problems) == 0 {
				t.Fatalf("Check = %v, %v, want a problem", problems, err)
			}
			first := problems[0]
			if test.step != ^StepNumber(0) && first.Step != test.step || first.Invariant != test.invariant ||
				first.File != historyFile {
				t.Errorf("Check begins with %q, want step %d, invariant %d", first, test.step, test.invariant)
			}
			if _, err := s.Step(ctx, "s", 4); err != nil && test.step >= 5 {
				t.Errorf("Step(4): %v; steps before the bad one are readable", err)
			}
		})
	}
}

// TestKeptHash writes a whole new history, as somebody could who knows the format. Only the hash that was kept
// elsewhere gives it away.
func TestKeptHash(t *testing.T) {
	dir := tamperable(t)
	s, err := Open(ctx, copyStore(t, dir), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var kept []Digest
	session, err := s.Session(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	for step, err := range s.Steps(ctx, "s", 1, session.Head) {
		if err != nil {
			t.Fatal(err)
		}
		if step.Number == 1 {
			kept = append(kept, step.Prev)
		}
		kept = append(kept, step.Hash)
	}
	if _, err := s.Fork(ctx, "fork", "s", 7, Origin{}); err != nil {
		t.Fatal(err)
	}
	for n, hash := range kept {
		if name, at, err := s.StepWithHash(ctx, hash); name != "s" || int(at) != n || err != nil {
			t.Errorf("WithHash of step %d = %s, %d, %v", n, name, at, err)
		}
	}
	if _, hash, _ := s.Head(ctx, "fork"); true {
		if name, at, err := s.StepWithHash(ctx, hash); name != "fork" || at != 8 || err != nil {
			t.Errorf("WithHash of the fork = %s, %d, %v", name, at, err)
		}
	}
	checkClose(t, s)

	edit(t, filepath.Join(dir, historyFile), func(tx *bbolt.Tx) error {
		prev := kept[4]
		for n := StepNumber(5); n <= 10; n++ {
			key := stepKey(1, n)
			h, p, _, err := openStep(key, n, bytes.Clone(tx.Bucket(bucketSteps).Get(key)))
			if err != nil {
				return err
			}
			if n == 5 {
				h.Origin = &Origin{Agent: "somebody else"}
			}
			h.Prev = prev
			header := encode(h)
			if err := tx.Bucket(bucketSteps).Put(key, packStep(key, header, p.body)); err != nil {
				return err
			}
			prev = DigestOf(header)
		}
		var head headRecord
		if err := getRecord(tx, bucketHeads, sessionID(1).key(), &head); err != nil {
			return err
		}
		head.Hash = prev
		return putRecord(tx, bucketHeads, sessionID(1).key(), head)
	})
	s = checkedOpen(t, dir, Options{}) // finds nothing wrong
	if _, _, err := s.StepWithHash(ctx, kept[10]); !errors.Is(err, ErrNoStep) {
		t.Errorf("WithHash of a history that was written anew = %v, want code %s", err, CodeNoStep)
	}
}

func at5(t *testing.T, tx *bbolt.Tx, session sessionID) []byte {
	t.Helper()
	p, err := unpackStep(5, tx.Bucket(bucketSteps).Get(stepKey(session, 5)))
	if err != nil {
		t.Fatal(err)
	}
	return p.header
}

// tamperable returns a closed store with a session of ten steps, the last with enough bytes behind it for an index.
func tamperable(t *testing.T) string {
	dir := storeDir(t)
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, "s")
	texts := []string{
		"x0 = 0",
		"x1 = 1+0",
		"x2 = 1+1+0",
		"x3 = 1+1+1+0",
		"x4 = 1+1+1+1+0",
		"x5",
		"x6",
		"x7",
		"x8",
		"x9",
	}
	for i, text := range texts {
		d := insert(BlockID("b"+itoa(i)), "", text)
		d.Origin.Reason = string(bytes.Repeat([]byte("because "), 80))
		commit(t, s, "s", d)
	}
	checkClose(t, s)
	return dir
}

func TestCheckStopsWithContext(t *testing.T) {
	p := newSample(t, 3)
	s := checkedOpen(t, p.dir, Options{})
	done, cancel := contextCancelled()
	defer cancel()
	if _, err := s.Check(done); err == nil {
		t.Error("Check with a cancelled context succeeds")
	}
}
