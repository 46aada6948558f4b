package remote

import (
	"crypto/rand"
	"encoding/hex"
)

// randomName is a part of the name of a temporary file.
func randomName() string {
	var b [8]byte
	rand.Read(b[:]) // it does not fail
	return hex.EncodeToString(b[:])
}
