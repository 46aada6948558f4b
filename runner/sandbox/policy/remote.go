package policy

import (
	"time"
)

// Remote says with whom results are shared, see package remote.
type Remote struct {
	Cache    string   // the path of a folder, or an address; "": results are not shared
	Key      string   // the file of the key that signs; "": the user's own
	Trusted  []string // files of public keys whose results are believed
	ReadOnly bool     // nothing is uploaded
	// Wait bounds how long the end of a session waits for uploads; 0: about as long as it waits for its own store.
	Wait time.Duration
	// Token names the variable of the environment that holds a token for a server. Authorities, Certificate and
	// CertificateKey are files for TLS.
	Token, Authorities, Certificate, CertificateKey string
}
