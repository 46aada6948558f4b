// Package keys reads the keys that sign, and names them.
//
// They are Ed25519 keys (RFC 8032), as openssl (PKCS #8, RFC 8410) and ssh-keygen write them. The id of a key is the
// SHA-256 of its public part in DER.
package keys
