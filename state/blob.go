package state

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	blobsDir = "blobs"
	basesDir = "bases"
	// inlineSize is the largest compressed blob stored in results.db, in bytes: about a page. A separate file would
	// take at least a page plus an inode, and cost an open for each read.
	inlineSize = 4000
)

// BlobRef names a blob by the SHA-256 and size of its uncompressed content, as the Remote Execution API v2 does.
type BlobRef struct {
	Digest Digest `cbor:"digest"`
	Size   int64  `cbor:"size"`
}

// blobs stores contents by digest: small ones in results.db, others as zstd files blobs/ab/abcd….zst. Parts of values
// that compress little are stored as they are, in blobs/ab/abcd….raw. A file gets its name only when it is complete.
// It is not synced, because a read verifies the content. A file's modification time is the
// approximate time of its last use; Collect reads it.
//
// Bases are stored in bases/ in the same way, but always as files, synced, and never evicted: what a workspace file
// held before a program wrote to it cannot be recomputed.
type blobs struct {
	dir      string
	readOnly bool
	results  *results // nil for bases
	note     func(format string, args ...any)
	verified verifiedBlobs
}

// PutBlob stores content.
func (s *Store) PutBlob(content []byte) (BlobRef, error) {
	ref := BlobRef{DigestOf(content), int64(len(content))}
	b := s.blobs
	if b.readOnly {
		return BlobRef{}, errReadOnly
	}
	// A re-run stores many contents again, and a lookup is cheaper than compressing.
	if b.has(ref.Digest) {
		return ref, nil
	}
	if len(content) <= 4*inlineSize {
		if packed := pack(content); len(packed) <= inlineSize {
			return ref, b.results.put(bucketInline, ref.Digest.key(), packed)
		}
	}
	return ref, b.write(ref, bytes.NewReader(content))
}

// PutBlobFile stores the content of an open file of any size. It fails if the file changes meanwhile.
func (s *Store) PutBlobFile(f *os.File) (BlobRef, error) {
	info, err := f.Stat()
	if err != nil {
		return BlobRef{}, fileError("read "+f.Name(), err)
	}
	return s.putSection(f, 0, info.Size())
}

// PutBase stores the content of an open file durably. Blob, OpenBlob and the like also find it.
func (s *Store) PutBase(f *os.File) (ref BlobRef, err error) {
	if s.bases.readOnly {
		return ref, errReadOnly
	}
	if ref, err = RefOf(f); err != nil {
		return ref, fileError("read "+f.Name(), err)
	}
	if s.bases.has(ref.Digest) {
		return ref, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return ref, fileError("read "+f.Name(), err)
	}
	return ref, s.bases.write(ref, f)
}

// RefOf returns the digest and the size of a content, and stores nothing.
func RefOf(r io.Reader) (ref BlobRef, err error) {
	h := sha256.New()
	if ref.Size, err = io.Copy(h, r); err != nil {
		return BlobRef{}, err
	}
	ref.Digest = sumOf(h)
	return ref, nil
}

// ErrChanged says that a content differs from the one that was announced.
var ErrChanged = errors.New("the file changed while it was read")

// TakeBlob stores the content of an open file. It moves a file that does not compress well instead of copying it: the
// caller removes what is left at the name that the file was opened by. want is the digest that the content must have;
// "" if it is not known.
func (s *Store) TakeBlob(f *os.File, want Digest) (ref BlobRef, err error) {
	if ref, err = RefOf(f); err != nil {
		return ref, fileError("read "+f.Name(), err)
	}
	if want != "" && ref.Digest != want {
		return ref, ErrChanged
	}
	b := s.blobs
	if b.readOnly {
		return ref, errReadOnly
	}
	if ref.Size <= 4*inlineSize {
		return s.putSection(f, 0, ref.Size)
	}
	if b.has(ref.Digest) {
		return ref, nil
	}
	if compresses(f, ref.Size) {
		return ref, b.write(ref, io.NewSectionReader(f, 0, ref.Size))
	}
	return ref, fileError("keep blob", b.move(f, ref.Digest))
}

// PutLarge stores a large content, which must have a digest.
func (s *Store) PutLarge(content []byte, want Digest) (BlobRef, error) {
	ref, b := BlobRef{DigestOf(content), int64(len(content))}, s.blobs
	switch {
	case ref.Digest != want:
		return ref, ErrChanged
	case b.readOnly:
		return ref, errReadOnly
	case b.has(ref.Digest):
		return ref, nil
	case len(content) <= 4*inlineSize || compresses(bytes.NewReader(content), ref.Size):
		return s.PutBlob(content)
	}
	f, err := os.CreateTemp(b.dir, "new-*")
	if err != nil {
		return ref, fileError("keep blob", err)
	}
	defer f.Close()
	if _, err = f.Write(content); err == nil {
		err = b.move(f, ref.Digest)
	}
	if err != nil {
		return ref, fileError("keep blob", errors.Join(err, os.Remove(f.Name())))
	}
	return ref, nil
}

// compresses reports whether compression would save half of a content, judged by three samples. To decompress a
// megabyte takes as long as to read ten.
func compresses(f io.ReaderAt, size int64) bool {
	const sample = 16 << 10
	content := make([]byte, 0, 3*sample)
	for _, at := range []int64{0, size / 2, size - sample} {
		part := make([]byte, sample)
		n, _ := f.ReadAt(part, max(at, 0))
		content = append(content, part[:n]...)
	}
	return len(pack(content)) < len(content)/2
}

// move makes an open file the uncompressed blob d. A program may have put another file under its name: that one does
// not become a blob.
func (b *blobs) move(from *os.File, d Digest) error {
	to, _ := b.rawPath(d)
	err := os.MkdirAll(filepath.Dir(to), folderMode)
	if err == nil {
		err = from.Chmod(blobMode)
	}
	if err == nil {
		err = os.Rename(from.Name(), to)
	}
	if err == nil {
		return b.moved(from, to)
	}
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f, err := os.CreateTemp(b.dir, "new-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Chmod(blobMode), f.Close()); err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// moved removes what is at a path and is not the file that was moved there.
func (b *blobs) moved(from *os.File, to string) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Lstat(to); err == nil && os.SameFile(info, now) {
		return nil
	}
	return errors.Join(ErrChanged, os.Remove(to))
}

// putSection stores size bytes of f from offset at. It reads a large section twice: once for the digest, and once to
// compress it, which it skips if the store has the blob.
func (s *Store) putSection(f *os.File, at, size int64) (ref BlobRef, err error) {
	if s.blobs.readOnly {
		return ref, errReadOnly
	}
	section := io.NewSectionReader(f, at, size)
	if size <= 4*inlineSize {
		content, err := io.ReadAll(section)
		if err != nil {
			return ref, fileError("read "+f.Name(), err)
		}
		return s.PutBlob(content)
	}
	h := sha256.New()
	if ref.Size, err = io.Copy(h, section); err != nil {
		return ref, fileError("read "+f.Name(), err)
	}
	ref.Digest = sumOf(h)
	if s.blobs.has(ref.Digest) {
		return ref, nil
	}
	return ref, s.blobs.write(ref, io.NewSectionReader(f, at, size))
}

// Blob returns the content of a blob, if the store has it. A damaged blob is removed, so that it can be stored again.
func (s *Store) Blob(d Digest) ([]byte, bool, error) {
	if content := s.blobs.inline(d); content != nil {
		return content, true, nil
	}
	r, ok, err := s.OpenBlob(d)
	if !ok {
		return nil, false, err
	}
	defer r.Close()
	var content bytes.Buffer
	if _, err := content.ReadFrom(r); err != nil {
		return nil, false, nil // noted by the reader
	}
	return content.Bytes(), true, nil
}

// OpenBlob returns a reader of a blob, if the store has it. The reader verifies the content as it goes: use none of
// it before io.EOF. Any other error means that the blob was damaged and has been removed.
func (s *Store) OpenBlob(d Digest) (io.ReadCloser, bool, error) {
	if content := s.blobs.inline(d); content != nil {
		return io.NopCloser(bytes.NewReader(content)), true, nil
	}
	if r := s.blobs.open(d); r != nil {
		return r, true, nil
	}
	if r := s.bases.open(d); r != nil {
		return r, true, nil
	}
	if s.options.Fallback != nil {
		return s.options.Fallback.OpenBlob(d)
	}
	return nil, false, nil
}

// open returns a reader of a blob's file, or nil if there is none.
func (b *blobs) open(d Digest) *blobReader {
	for _, raw := range []bool{false, true} {
		path, ok := b.path(d)
		if raw {
			path, ok = b.rawPath(d)
		}
		if !ok {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				b.note("blob %s counts as missing: %v", d, err)
			}
			continue
		}
		r := b.raw(d, path, f)
		if !raw {
			z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
			if err != nil {
				f.Close()
				b.discard(d, path, err)
				return nil
			}
			r.content, r.zstd = z, z
		}
		if info, err := f.Stat(); err == nil {
			b.used(info, path)
		}
		return r
	}
	return nil
}

// verify reports whether the file of an uncompressed blob exists and has its content. A damaged one is removed.
func (b *blobs) verify(d Digest, path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	r := b.raw(d, path, f)
	defer r.Close()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	b.used(info, path)
	if b.verified.has(d, info) {
		return true
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return false // the reader removed it
	}
	b.verified.add(d, info)
	return true
}

// raw returns a reader of an open file that holds a blob as it is.
func (b *blobs) raw(d Digest, path string, f *os.File) *blobReader {
	return &blobReader{blobs: b, digest: d, path: path, file: f, content: f, hash: sha256.New()}
}

// used records the time of a use, at most once an hour: a write for every read would cost more than the record is
// worth.
func (b *blobs) used(info fs.FileInfo, path string) {
	now := time.Now()
	if !b.readOnly && b.results != nil && now.Sub(info.ModTime()) > time.Hour {
		_ = os.Chtimes(path, time.Time{}, now) // on failure Collect takes it for older than it is
	}
}

// BlobToFile writes the content of a blob to path, replacing what is there, and reports whether the store had the
// blob. The file is written under a temporary name, so a missing blob leaves path as it was. It is this user's alone.
func (s *Store) BlobToFile(d Digest, path string) (ok bool, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".xstate-*")
	if err != nil {
		return false, fileError("write "+path, err)
	}
	defer os.Remove(f.Name())
	if ok, err = s.CopyBlob(f, d); err != nil || !ok {
		return false, errors.Join(fileError("write "+path, err), f.Close())
	}
	if err = f.Close(); err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err == nil, fileError("write "+path, err)
}

// BlobFile returns the path of a file with the content of a blob, if the store has the blob: its own file if that is
// not compressed, else a copy at path. The content is verified, its own file once for each version of it that this
// process sees. The file may disappear at any time, see Collect.
func (s *Store) BlobFile(d Digest, path string) (string, bool, error) {
	if raw, ok := s.blobs.rawPath(d); ok && s.blobs.verify(d, raw) {
		return raw, true, nil
	}
	if s.options.Fallback != nil && !s.blobs.has(d) {
		return s.options.Fallback.BlobFile(d, path)
	}
	ok, err := s.BlobToFile(d, path)
	return path, ok, err
}

// CopyBlob writes the content of a blob, and reports whether the store had the blob. If it had not, part of a damaged
// blob may have been written.
func (s *Store) CopyBlob(w io.Writer, d Digest) (bool, error) {
	r, ok, err := s.OpenBlob(d)
	if !ok {
		return false, err
	}
	defer r.Close()
	source := &faultReader{r: r}
	_, err = io.Copy(w, source)
	if source.err != nil {
		return false, nil // noted by the reader
	}
	return true, err
}

// faultReader remembers read errors. io.Copy returns errors of either side alike, but only a failed write is the
// caller's error: a failed read is a damaged blob, which is a miss.
type faultReader struct {
	r   io.Reader
	err error
}

func (f *faultReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

func syncDirs(dirs ...string) error {
	for _, dir := range dirs {
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

func (b *blobs) has(d Digest) bool {
	if b.inline(d) != nil {
		return true
	}
	path, ok := b.path(d)
	if !ok {
		return false
	}
	raw, _ := b.rawPath(d)
	for _, path := range []string{path, raw} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// inline returns the content of a blob stored in results.db, or nil.
func (b *blobs) inline(d Digest) []byte {
	if d == Absent || b.results == nil {
		return nil
	}
	b.results.mu.Lock()
	known, ok := b.results.recall(bucketInline, d.key())
	b.results.mu.Unlock()
	if ok {
		return bytes.Clone(known.([]byte))
	}
	packed := b.results.get(bucketInline, d.key(), fmt.Sprintf("blob %s", d))
	if packed == nil {
		return nil
	}
	content, err := unpack(packed)
	if err == nil && DigestOf(content) != d {
		err = errSeal
	}
	if err != nil {
		b.note("blob %s in %s is damaged and counts as missing: %v", d, resultsFile, err)
		return nil
	}
	if content == nil {
		content = []byte{}
	}
	b.results.mu.Lock()
	b.results.memory.put(bucketInline, d.key(), len(content), bytes.Clone(content))
	b.results.mu.Unlock()
	return content
}

// path returns the file name of a digest. A digest that is not SHA-256 in hex has none: it could name a file
// elsewhere.
func (b *blobs) path(d Digest) (string, bool) {
	if _, ok := d.raw(); !ok {
		return "", false
	}
	return filepath.Join(b.dir, string(d[:2]), string(d)+".zst"), true
}

// rawPath returns the file name of a digest whose content is not compressed.
func (b *blobs) rawPath(d Digest) (string, bool) {
	path, ok := b.path(d)
	return strings.TrimSuffix(path, ".zst") + ".raw", ok
}

// digestOfFile returns the digest in the name of a file in b's folder, if it is that of a blob.
func (b *blobs) digestOfFile(path string) (d Digest, raw, ok bool) {
	name, raw := strings.CutSuffix(filepath.Base(path), ".raw")
	d = Digest(strings.TrimSuffix(name, ".zst"))
	want, ok := b.path(d)
	if raw {
		want, ok = b.rawPath(d)
	}
	return d, raw, ok && want == path
}

// write compresses r into the file of ref. It verifies the digest while it reads, and renames the file only then.
func (b *blobs) write(ref BlobRef, r io.Reader) error {
	path, _ := b.path(ref.Digest)
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return fileError("keep blob", err)
	}
	// Collect removes a new-* file that a killed process left, after blobGracePeriod.
	f, err := os.CreateTemp(b.dir, "new-*")
	if err != nil {
		return fileError("keep blob", err)
	}
	h := sha256.New()
	err = compress(f, io.TeeReader(r, h), ref.Size)
	if err == nil && sumOf(h) != ref.Digest {
		err = ErrChanged
	}
	if err == nil {
		// Read-only, against tools that edit every file below a folder.
		err = f.Chmod(blobMode)
	}
	if err == nil && b.results == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil && b.results == nil {
		return fileError("keep blob", syncDirs(filepath.Dir(path), b.dir, filepath.Dir(b.dir)))
	}
	if err != nil {
		return fileError("keep blob", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

func compress(w io.Writer, r io.Reader, size int64) error {
	z, err := zstd.NewWriter(
		nil,
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithLowerEncoderMem(true),
	)
	if err != nil {
		return err
	}
	z.ResetContentSize(w, size)
	_, err = io.Copy(z, r)
	return errors.Join(err, z.Close())
}

// discard reports a damaged blob and removes its file. A damaged base stays: it cannot be stored again.
func (b *blobs) discard(d Digest, path string, why error) {
	b.note("blob %s is damaged and counts as missing: %v", d, why)
	if !b.readOnly && b.results != nil {
		if err := os.Remove(path); err != nil {
			b.note("damaged blob %s cannot be removed: %v", d, err)
		}
	}
}

func sumOf(h hash.Hash) Digest { return digest([sha256.Size]byte(h.Sum(nil))) }

// blobReader reads a blob. It returns io.EOF only if the content has the blob's digest.
type blobReader struct {
	blobs   *blobs
	digest  Digest
	path    string
	file    *os.File
	content io.Reader     // the file, decompressed if it is compressed
	zstd    *zstd.Decoder // nil if it is not
	hash    hash.Hash
	err     error
}

func (r *blobReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.content.Read(p)
	r.hash.Write(p[:n])
	if err == io.EOF && sumOf(r.hash) != r.digest {
		err = errSeal
	}
	if err != nil && err != io.EOF {
		r.blobs.discard(r.digest, r.path, err)
	}
	r.err = err
	return n, err
}

func (r *blobReader) Close() error {
	if r.zstd != nil {
		r.zstd.Close()
	}
	return r.file.Close()
}
