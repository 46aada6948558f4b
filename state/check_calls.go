package state

import (
	"bytes"
	"errors"
	"fmt"
)

// callRecords verifies calls.db, and that the contents of calls exist. A damaged record is reported and the walk goes
// on.
func (c *checker) callRecords() error {
	db, err := c.store.journal(c.ctx, false)
	if db == nil && err == nil {
		return nil
	}
	if err == nil {
		c.database = db
		err = db.inspect(c.ctx)
	}
	for _, bucket := range callsBuckets {
		if err == nil {
			err = c.each(bucket, func(k, v []byte) error {
				payload, err := unseal(bucket, k, v)
				if err == nil {
					err = c.callRecord(string(bucket), k, payload)
				}
				if err != nil {
					c.reportCall("bucket %s, record %x: %v", bucket, k, err)
				}
				return nil
			})
		}
	}
	if errors.Is(err, ErrDamaged) {
		c.reportCall("%v", err)
		err = nil
	}
	return err
}

func (c *checker) reportCall(format string, args ...any) {
	c.add(Problem{Invariant: 14, File: callsFile, Message: fmt.Sprintf(format, args...)})
}

// callRecord checks one record of calls.db against its key.
func (c *checker) callRecord(bucket string, k, payload []byte) error {
	var call Call
	switch bucket {
	case string(bucketPlaces):
		var id CallID
		if err := decode(payload, &id); err != nil {
			return err
		}
		if err := getRecord(c.tx, bucketCalls, id.key(), &call); err != nil {
			return fmt.Errorf("it names call %d: %w", id, err)
		}
		if !bytes.Equal(callPlace(call.Key, call.Within, call.Number), k) {
			return fmt.Errorf("it names call %d, which has another place", id)
		}
	case string(bucketCalls):
		if err := decode(payload, &call); err != nil {
			return err
		}
		if !bytes.Equal(call.ID.key(), k) {
			return fmt.Errorf("it is the record of call %d", call.ID)
		}
		var at CallID
		err := getRecord(c.tx, bucketPlaces, callPlace(call.Key, call.Within, call.Number), &at)
		if err != nil || at != call.ID {
			return fmt.Errorf("its place names call %d: %w", at, err)
		}
		c.callContents(&call)
	}
	return nil
}

// callContents reports contents of a call that are missing or damaged. Those in files are verified with their files.
func (c *checker) callContents(call *Call) {
	for _, x := range call.Contents() {
		if x.Inline == nil && x.Size > 0 {
			if !c.store.bases.has(x.Digest) {
				c.add(Problem{Invariant: 15, File: callsFile,
					Message: fmt.Sprintf("call %d: the content %s is missing", call.ID, x.Digest)})
			}
		} else if x.Digest != "" && DigestOf(x.Inline) != x.Digest {
			c.add(Problem{Invariant: 15, File: callsFile,
				Message: fmt.Sprintf("call %d: a content does not have the digest %s", call.ID, x.Digest)})
		}
	}
}
