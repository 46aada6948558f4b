// Package bash is what patch knows of a text of Bash: its statements and names. See package syntax, where it registers
// itself.
package bash
