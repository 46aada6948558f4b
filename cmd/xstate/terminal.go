package main

import (
	"io"
	"strings"

	"golang.org/x/term"
)

// protocol is a way in which a terminal takes pictures.
type protocol int

const (
	noPictures    protocol = iota
	kittyPictures          // Kitty, Ghostty: sw.kovidgoyal.net/kitty/graphics-protocol
	itermPictures          // iTerm2, WezTerm: iterm2.com/documentation-images.html
	sixelPictures          // foot, mlterm and others: vt100.net/docs/vt3xx-gp/chapter14.html
)

// protocolOf returns what a terminal announces in the environment. A multiplexer in between passes no pictures on.
func protocolOf(env func(string) string) protocol {
	name, program := env("TERM"), env("TERM_PROGRAM")
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	switch {
	case env("TMUX") != "" || begins("screen") || begins("tmux") || name == "dumb":
		return noPictures
	case name == "xterm-kitty" || name == "xterm-ghostty" || env("KITTY_WINDOW_ID") != "" || program == "ghostty":
		return kittyPictures
	case program == "iTerm.app" || program == "WezTerm":
		return itermPictures
	case begins("foot") || begins("mlterm") || begins("yaft") || strings.Contains(name, "sixel"):
		return sixelPictures
	}
	return noPictures
}

// descriptor is an open file: of this process, or one that a caller sent.
type descriptor interface{ Fd() uintptr }

// widthOf returns the columns of a terminal; 80 if it does not say.
func widthOf(w io.Writer) int {
	if f, ok := w.(descriptor); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 1 {
			return w
		}
	}
	return 80
}
