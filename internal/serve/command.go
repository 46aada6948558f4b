package serve

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xstate-engine/xstate/internal/verb"
)

// The command protocol. A client sends 0x00 and a command. The server replies that it is ready, or refuses. The client
// then sends a byte with its descriptors 0, 1 and 2 along, and a byte 'i' for each interrupt. The server uses these
// descriptors, and replies when the call has ended. A client that ends the connection before has gone away: a call
// whose client gave up waiting is not begun. Commands and replies are JSON after their length in 4 bytes, big-endian.

// command is a call that a client asks for.
type command struct {
	Args         []string   `json:"args,omitempty"`      // of the command line
	Operation    *verb.Wire `json:"operation,omitempty"` // in their place: what another door asks
	Folder       string     `json:"folder"`
	Environ      []string   `json:"environ"`
	Version      string     `json:"version"`          // the client's build
	Surroundings string     `json:"surroundings"`     // see surroundings; "" is not compared
	Retire       bool       `json:"retire,omitempty"` // no call: the server is to end if nothing runs
}

// reply says that the server is ready, how a call ended, or why it was not begun.
type reply struct {
	Ready   bool   `json:"ready,omitempty"`
	Exit    int    `json:"exit"`
	Pipe    bool   `json:"pipe,omitempty"`    // it ended because its output has no reader any more
	Refused string `json:"refused,omitempty"` // why the server did nothing
	Ending  bool   `json:"ending,omitempty"`  // and it ends
}

const (
	commandByte   = 0x00
	interruptByte = 'i'

	longestCommand = 8 << 20 // twice what Linux lets a program be started with
	replyTime      = 5 * time.Second
	descriptors    = 3
)

func writeFrame(w io.Writer, doc any) error {
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))
	return err
}

func readFrame(r io.Reader, doc any) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > longestCommand {
		return fmt.Errorf("a frame of %d bytes, want at most %d", n, longestCommand)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return err
	}
	return json.Unmarshal(data, doc)
}

func sendCommand(c *net.UnixConn, cmd command) error {
	if _, err := c.Write([]byte{commandByte}); err != nil {
		return err
	}
	return writeFrame(c, cmd)
}

func sendDescriptors(c *net.UnixConn, files [descriptors]*os.File) error {
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	_, _, err := c.WriteMsgUnix([]byte{commandByte}, unix.UnixRights(fds...), nil)
	return err
}

// readByte reads a byte, and the descriptors that were sent along.
func readByte(c *net.UnixConn) (first byte, fds []int, err error) {
	var data [1]byte
	rights := make([]byte, unix.CmsgSpace(4*descriptors))
	n, m, flags, _, err := c.ReadMsgUnix(data[:], rights) // the descriptors close on exec
	if err == nil && n == 0 {
		err = io.EOF
	}
	messages, bad := unix.ParseSocketControlMessage(rights[:m])
	for i := range messages {
		if got, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	if err = errors.Join(err, bad); err == nil && flags&unix.MSG_CTRUNC != 0 {
		err = errors.New("too many descriptors")
	}
	if err != nil {
		closeAll(fds)
		return 0, nil, err
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	return data[0], fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}
