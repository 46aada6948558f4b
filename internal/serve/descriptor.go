package serve

import (
	"context"
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// errPipe is why a call ends whose reader has gone.
var errPipe = errors.New("nobody reads the output any more")

// descriptor is an open file of a client, which the client shares. The server must not change how it works, such as
// make it non-blocking. So it waits for it with poll, and no write is larger than what it then takes: a client that
// stops reading blocks its own call, and one that goes away ends it.
type descriptor struct {
	ctx   context.Context
	fd    int
	whole bool        // a regular file, which takes everything
	gone  func(error) // called when it has no reader
}

func newDescriptor(ctx context.Context, fd int, gone func(error)) *descriptor {
	var info unix.Stat_t
	err := unix.Fstat(fd, &info)
	return &descriptor{ctx: ctx, fd: fd, whole: err == nil && info.Mode&unix.S_IFMT == unix.S_IFREG, gone: gone}
}

// Fd makes a descriptor of a terminal known as one.
func (d *descriptor) Fd() uintptr { return uintptr(d.fd) }

// pollEvery is how often a wait looks whether the call has ended, in milliseconds.
const pollEvery = 200

// wait waits until the descriptor is ready.
func (d *descriptor) wait(events int16) error {
	for {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(d.fd), Events: events}}, pollEvery)
		if n > 0 || err != nil && err != unix.EINTR {
			return err
		}
	}
}

// Read implements io.Reader.
func (d *descriptor) Read(p []byte) (int, error) {
	for {
		if err := d.wait(unix.POLLIN); err != nil {
			return 0, err
		}
		n, err := unix.Read(d.fd, p)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// pipePiece is what a pipe takes at once when it is ready (PIPE_BUF).
const pipePiece = 4096

// Write implements io.Writer.
func (d *descriptor) Write(p []byte) (done int, err error) {
	for done < len(p) {
		piece := p[done:]
		if !d.whole {
			piece = piece[:min(len(piece), pipePiece)]
			if err := d.wait(unix.POLLOUT); err != nil {
				return done, err
			}
		}
		n, err := unix.Write(d.fd, piece)
		done += max(n, 0)
		switch {
		case err == nil || err == unix.EINTR || err == unix.EAGAIN:
		case err == syscall.EPIPE:
			d.gone(errPipe)
			return done, err
		default:
			return done, err
		}
	}
	return done, nil
}

func (d *descriptor) Close() { _ = unix.Close(d.fd) }
