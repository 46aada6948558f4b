package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Files of a server in its store.
const (
	socketFile = "serve.sock"
	infoFile   = "server.json"
	lockFile   = "server.lock" // locked for as long as the server lives
	tokenFile  = "token"       // that callers over TCP must show
	logFile    = "server.log"
)

// Info is what a server says of itself in server.json. Clients in other languages read it to find the socket.
type Info struct {
	Version int    `json:"version"`
	PID     int    `json:"pid"`
	Socket  string `json:"socket"`
	HTTP    string `json:"http,omitempty"` // http://127.0.0.1:PORT where it listens there, too
	XState  string `json:"xstate"`         // version
	Build   string `json:"build"`          // digest of the binary
}

// longestSocket is the length of a path that every system takes as the address of a socket.
const longestSocket = 100

// socketPaths returns where the socket of a store may be, best first. dir is canonical.
func socketPaths(dir string) []string {
	inner := filepath.Join(dir, socketFile)
	if len(inner) <= longestSocket {
		return []string{inner}
	}
	sum := sha256.Sum256([]byte(dir))
	name := hex.EncodeToString(sum[:8]) + ".sock"
	var paths []string
	if run := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		paths = append(paths, filepath.Join(run, "xstate", name))
	}
	paths = append(paths, filepath.Join("/tmp", fmt.Sprintf("xstate-%d", os.Geteuid()), name))
	return slices.DeleteFunc(paths, func(path string) bool { return len(path) > longestSocket })
}

// privateFolder makes a folder that only this user can use, or checks one.
func privateFolder(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || !owned(info) || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a folder of this user alone", dir)
	}
	return nil
}

func owned(info fs.FileInfo) bool {
	sys, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}

// readInfo reads what the server of a store says of itself. A file of another user says nothing.
func readInfo(dir string) (info Info, ok bool) {
	path := filepath.Join(dir, infoFile)
	file, err := os.Lstat(path)
	if err != nil || !file.Mode().IsRegular() || !owned(file) {
		return info, false
	}
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &info) != nil {
		return info, false
	}
	return info, info.Version == 1 && info.Socket != ""
}

func writeInfo(dir string, info Info) error {
	data, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return writePrivate(filepath.Join(dir, infoFile), append(data, '\n'))
}

// writePrivate makes a file that only this user can read hold data, at once or not at all.
func writePrivate(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".server-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// token returns the secret of a store that callers over TCP must show. It is made on first use.
func token(dir string) (string, error) {
	path := filepath.Join(dir, tokenFile)
	info, err := os.Lstat(path)
	if err == nil && (!info.Mode().IsRegular() || !owned(info) || info.Mode().Perm()&0o077 != 0) {
		return "", fmt.Errorf("%s is not a file of this user alone; remove it to have another one made", path)
	}
	if data, err := os.ReadFile(path); err == nil && len(strings.TrimSpace(string(data))) >= 32 {
		return strings.TrimSpace(string(data)), nil
	}
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return "", err
	}
	text := hex.EncodeToString(secret)
	return text, writePrivate(path, []byte(text+"\n"))
}

// canonical returns the one name of a folder.
func canonical(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}
