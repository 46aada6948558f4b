// Package secret keeps the values of secrets out of what is recorded.
//
// A program that may use a secret has its value in the environment. A Set knows the values. It replaces them in texts
// that are recorded or shown, finds them in contents that would be stored, and names them in keys by a digest that does
// not allow guesses to be tested.
//
// # The invariant
//
// A text that went through Scrub, or a content that Has does not find one in, holds no value of the set as it is, nor
// in the forms that programs write texts in: base64 at any place of a longer text, percent-encoding, the escapes of
// JSON and Python, hexadecimal digits, UTF-16 and UTF-32.
//
// # What it cannot see
//
// A value that the program changes otherwise: reversed, encrypted, compressed, or printed in two parts. The digest of a
// value that the program made from the secret is an ordinary hash, against which a guess of the secret can be tested.
package secret
