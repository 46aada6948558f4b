package api

import (
	"time"

	"github.com/xstate-engine/xstate/runner/replay"
	"github.com/xstate-engine/xstate/state"
	"github.com/xstate-engine/xstate/state/artifact"
	"github.com/xstate-engine/xstate/state/provenance"
)

// Artifact is the document of artifact declare, show and drop.
type Artifact struct {
	Answer
	Artifact *artifact.View `json:"artifact,omitempty"` // as it is now; absent when it was dropped
	Dropped  string         `json:"dropped,omitempty"`  // the name
}

// Artifacts is the document of artifact list.
type Artifacts struct {
	Answer
	Artifacts []artifact.View `json:"artifacts"`
	// blocks of the file that differ from the program after its last step
	Unrecorded []string `json:"unrecorded"`
}

// Evidence is the document of evidence.
type Evidence struct {
	Version int `json:"version"`
	*provenance.Evidence
	// Edited are files among the results that now have another content in the workspace than the program wrote.
	Edited []string `json:"edited_files,omitempty"`
}

// VerifiedStatement is the document of evidence verify.
type VerifiedStatement struct {
	Version   int                   `json:"version"`
	Verified  bool                  `json:"verified"`
	KeyID     string                `json:"key_id"` // SHA-256 of the public key in DER
	Statement *provenance.Statement `json:"statement"`
	Files     []VerifiedFile        `json:"files"` // with --folder
}

// VerifiedFile is a file that a statement names, compared with the one in the folder.
type VerifiedFile struct {
	Name   string `json:"name"`
	Status string `json:"status"` // equal, differs or missing
}

// CheckVerifier is the document of check-verifier.
type CheckVerifier struct {
	Version int    `json:"version"`
	Session string `json:"session"`
	*replay.Challenge
	// Unseen are sources on which what the calls of the block were given depends, and of which they were given nothing.
	Unseen []string `json:"unseen"`
}

// Export is the document of export, and of evidence with --out.
type Export struct {
	Version int              `json:"version"`
	Session string           `json:"session"`
	Step    state.StepNumber `json:"step"`
	Hash    state.Digest     `json:"hash,omitempty"` // the hash of an archive's last step
	Format  string           `json:"format"`
	File    string           `json:"file"`  // the file that was written
	Bytes   int64            `json:"bytes"` // its size
}

// Import is the document of import.
type Import struct {
	Version int              `json:"version"`
	Store   string           `json:"store"`
	Session string           `json:"session"`
	Step    state.StepNumber `json:"step"`    // the last one of the archive
	Hash    state.Digest     `json:"hash"`    // the hash of that step
	New     int              `json:"new"`     // steps that the store did not have
	Skipped int              `json:"skipped"` // damaged results that were left out
	// Trust is whose the results of the session are: own, trusted or foreign. Signer is the id of the key by which they
	// are trusted.
	Trust  string `json:"trust"`
	Signer string `json:"signer,omitempty"`
}

// Push is the document of push.
type Push struct {
	Version int              `json:"version"`
	Session string           `json:"session"`
	Step    state.StepNumber `json:"step"`   // its last one
	Hash    state.Digest     `json:"hash"`   // the hash of that step
	Pushed  bool             `json:"pushed"` // false: the cache has all of it already
	Cache   string           `json:"cache"`
	Number  int              `json:"number"` // how many pushes of the session the cache has had
	Values  bool             `json:"values"` // the archive in the cache has values and the content of files
	Bytes   int64            `json:"bytes"`  // the size of the archive
	// Unknown are keys that are not trusted, by their ids. Pushes that they signed do not count.
	Unknown []string `json:"unknown_keys,omitempty"`
}

// Pull is the document of pull.
type Pull struct {
	Import
	Cache   string    `json:"cache"`
	Number  int       `json:"number"` // of the push
	Pushed  time.Time `json:"pushed_at"`
	Unknown []string  `json:"unknown_keys,omitempty"` // as of push
}
