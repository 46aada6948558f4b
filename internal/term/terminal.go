package term

import (
	"io"
	"strings"

	"golang.org/x/term"
)

// pictureProtocol is a way in which a terminal takes pictures.
type pictureProtocol int

const (
	NoPictures    pictureProtocol = iota
	kittyPictures                 // Kitty, Ghostty: sw.kovidgoyal.net/kitty/graphics-protocol
	itermPictures                 // iTerm2, WezTerm: iterm2.com/documentation-images.html
	sixelPictures                 // foot, mlterm and others: vt100.net/docs/vt3xx-gp/chapter14.html
)

// protocolOf returns what a terminal announces in the environment. A multiplexer in between passes no pictures on.
func protocolOf(env func(string) string) pictureProtocol {
	name, program := env("TERM"), env("TERM_PROGRAM")
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	switch {
	case env("TMUX") != "" || begins("screen") || begins("tmux") || name == "dumb":
		return NoPictures
	case name == "xterm-kitty" || name == "xterm-ghostty" || env("KITTY_WINDOW_ID") != "" || program == "ghostty":
		return kittyPictures
	case program == "iTerm.app" || program == "WezTerm":
		return itermPictures
	case begins("foot") || begins("mlterm") || begins("yaft") || strings.Contains(name, "sixel"):
		return sixelPictures
	}
	return NoPictures
}

// Descriptor is an open file: of this process, or one that a caller sent.
type Descriptor interface{ Fd() uintptr }

// WidthOf returns the columns of a terminal; 80 if it does not say.
func WidthOf(w io.Writer) int {
	if f, ok := w.(Descriptor); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 1 {
			return w
		}
	}
	return 80
}
