package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	minio "github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/xstate-engine/xstate/state"
)

// bucket is a store in a bucket of S3, or of a server that speaks its protocol. An object is a record or a blob. It is
// only ever created (If-None-Match: *), so a policy of the bucket can forbid all else.
type bucket struct {
	address string // as the user wrote it, for errors
	client  minio.Core
	name    string
	prefix  string
	idle    func() // closes connections
}

// bucketScheme begins the address of a bucket.
const bucketScheme = "s3://"

// bucketAddress is s3://BUCKET/PREFIX?endpoint=URL&region=NAME. All but the bucket may be left out.
type bucketAddress struct {
	name, prefix     string
	endpoint, region string
}

// IsBucket reports whether an address is that of a bucket.
func IsBucket(address string) bool { return strings.HasPrefix(address, bucketScheme) }

// CheckBucket returns what is wrong with the address of a bucket; nil if nothing is.
func CheckBucket(address string) error {
	_, err := parseBucket(address)
	return err
}

// parseBucket refuses an address that could have a password, because errors show addresses.
func parseBucket(address string) (at bucketAddress, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return at, fmt.Errorf("the address of a cache: %w", errors.Unwrap(err))
	}
	query, err := url.ParseQuery(u.RawQuery)
	for name := range query {
		if name != "endpoint" && name != "region" {
			err = errors.Join(err, fmt.Errorf("there is no parameter %q", name))
		}
	}
	if err != nil || u.Host == "" || u.Port() != "" || u.User != nil || u.Fragment != "" {
		return at, errors.New("the address of a cache: want s3://BUCKET/PREFIX, and at most ?endpoint=URL&region=NAME")
	}
	return bucketAddress{u.Host, strings.Trim(u.Path, "/"), query.Get("endpoint"), query.Get("region")}, nil
}

// openBucket returns the store at an address. getenv has what the tools of S3 look for: AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE, AWS_SHARED_CREDENTIALS_FILE, AWS_REGION, AWS_DEFAULT_REGION,
// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL.
func openBucket(address string, getenv func(string) string) (Store, error) {
	at, err := parseBucket(address)
	if err != nil {
		return nil, err
	}
	first := func(texts ...string) string {
		for _, text := range texts {
			if text != "" {
				return text
			}
		}
		return ""
	}
	const amazon = "https://s3.amazonaws.com"
	endpoint := first(at.endpoint, getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"), amazon)
	server, err := url.Parse(endpoint)
	if err != nil || server.Scheme != "https" && server.Scheme != "http" || server.Host == "" || server.User != nil {
		return nil, fmt.Errorf("%s: the endpoint must be https://HOST", address)
	}
	transport, err := minio.DefaultTransport(server.Scheme == "https")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	client, err := minio.New(server.Host, &minio.Options{
		Creds:      credentialsOf(getenv),
		Secure:     server.Scheme == "https",
		Region:     first(at.region, getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION")),
		Transport:  transport,
		MaxRetries: 1, // a store that fails is left alone
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	client.SetAppInfo("xstate", "1")
	return &bucket{address, minio.Core{Client: client}, at.name, at.prefix, transport.CloseIdleConnections}, nil
}

// credentialsOf are those that an environment names, those in its file, and those of the machine.
func credentialsOf(getenv func(string) string) *credentials.Credentials {
	if id := getenv("AWS_ACCESS_KEY_ID"); id != "" {
		return credentials.NewStaticV4(id, getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SESSION_TOKEN"))
	}
	file := getenv("AWS_SHARED_CREDENTIALS_FILE")
	if file == "" {
		file = path.Join(getenv("HOME"), ".aws", "credentials")
	}
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.FileAWSCredentials{Filename: file, Profile: getenv("AWS_PROFILE")},
		&credentials.IAM{},
	})
}

// Close ends connections that no call uses.
func (b *bucket) Close() error {
	b.idle()
	return nil
}

// The folders of objects.
const (
	recordObjects = "records"
	blobObjects   = "blobs"
)

// key is that of an object.
func (b *bucket) key(folder string, name state.Digest) (string, error) {
	if !name.IsContent() {
		return "", fmt.Errorf("%q is no digest", name)
	}
	return path.Join(b.prefix, folder, string(name)), nil
}

// failed says where and in what a call failed. Where the context has ended, its error is the reason: users ask for it.
func (b *bucket) failed(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("%s: %s: %w", b.address, what, err)
}

// isMissing reports whether a call failed because there is no such object.
func isMissing(err error) bool {
	e := minio.ToErrorResponse(err)
	return e.StatusCode == http.StatusNotFound && e.Code != "NoSuchBucket"
}

// get writes an object to w. It reports false if there is none.
func (b *bucket) get(ctx context.Context, folder string, name state.Digest, w io.Writer) (bool, error) {
	what := "read of " + folder
	key, err := b.key(folder, name)
	if err != nil {
		return false, err
	}
	r, _, _, err := b.client.GetObject(ctx, b.name, key, minio.GetObjectOptions{})
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, b.failed(ctx, what, err)
	}
	defer r.Close()
	from := &failing{r: r} // its error is not the writer's
	if _, err = io.Copy(w, from); from.err != nil {
		return false, b.failed(ctx, what, from.err)
	}
	return err == nil, err // the writer's
}

// failing keeps the error of a reader, and fails if that ends before left bytes.
type failing struct {
	r    io.Reader
	left int64
	err  error
}

func (f *failing) Read(p []byte) (n int, err error) {
	n, err = f.r.Read(p)
	f.left -= int64(n)
	if errors.Is(err, io.EOF) && f.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// put creates an object, unless there is one.
func (b *bucket) put(ctx context.Context, folder string, name state.Digest, size int64, r io.Reader) error {
	key, err := b.key(folder, name)
	if err != nil {
		return err
	}
	if folder == blobObjects { // a server may close the connection when it refuses a large object
		if there, err := b.has(ctx, key, size); there || err != nil {
			return notTaken(err)
		}
	}
	o := minio.PutObjectOptions{PartSize: objectPart}
	o.SetMatchETagExcept("*")
	from := &failing{r: &interruptible{ctx, r}, left: size}
	_, err = b.client.Client.PutObject(ctx, b.name, key, from, size, o)
	if err == nil || from.err != nil {
		return from.err
	}
	switch minio.ToErrorResponse(err).StatusCode {
	case http.StatusPreconditionFailed: // another has put it
		return nil
	case http.StatusConflict:
		return errConflict
	}
	if there, _ := b.has(ctx, key, size); there { // another was faster
		return nil
	}
	return b.failed(ctx, "write to "+folder, notTaken(err))
}

// errConflict reports that another puts an object at this moment.
var errConflict = errors.New("another writes the same object")

// notTaken adds ErrReadOnly to an error that says so.
func notTaken(err error) error {
	e := minio.ErrorResponse{}
	if errors.As(err, &e) && slices.Contains([]int{http.StatusForbidden, http.StatusInsufficientStorage,
		http.StatusRequestEntityTooLarge}, e.StatusCode) {
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return err
}

// objectPart is the size of the parts of a large object, in bytes.
const objectPart = 8 << 20

// has reports whether there is an object of a size.
func (b *bucket) has(ctx context.Context, key string, size int64) (bool, error) {
	found, err := b.client.StatObject(ctx, b.name, key, minio.StatObjectOptions{})
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, b.failed(ctx, "look for an object", err)
	}
	return found.Size == size, nil
}

func (b *bucket) Records(ctx context.Context, names []state.Digest) ([][]byte, error) {
	records, at := make([][]byte, len(names)), make([]int, len(names))
	for i := range names {
		at[i] = i
	}
	return records, inParallel(at, func(i int) error {
		var content bytes.Buffer
		there, err := b.get(ctx, recordObjects, names[i], &content)
		if there {
			records[i] = content.Bytes()
		}
		return err
	})
}

func (b *bucket) PutRecord(ctx context.Context, name state.Digest, record []byte, _ []state.BlobRef) error {
	for {
		err := b.put(ctx, recordObjects, name, int64(len(record)), bytes.NewReader(record))
		if !errors.Is(err, errConflict) {
			return err
		}
		select { // the other may fail
		case <-time.After(conflictWait):
		case <-ctx.Done():
			return b.failed(ctx, "write to "+recordObjects, err)
		}
	}
}

// conflictWait is how long a record that another writes is left to the other.
const conflictWait = 50 * time.Millisecond

func (b *bucket) Missing(ctx context.Context, refs []state.BlobRef) (missing []state.BlobRef, err error) {
	lacks, at := make([]bool, len(refs)), make([]int, len(refs))
	for i := range refs {
		at[i] = i
	}
	err = inParallel(at, func(i int) error {
		key, err := b.key(blobObjects, refs[i].Digest)
		if err != nil {
			return err
		}
		there, err := b.has(ctx, key, refs[i].Size)
		lacks[i] = !there && err == nil
		return err
	})
	for i, ref := range refs {
		if lacks[i] {
			missing = append(missing, ref)
		}
	}
	return missing, err
}

func (b *bucket) Blob(ctx context.Context, ref state.BlobRef, w io.Writer) (bool, error) {
	return b.get(ctx, blobObjects, ref.Digest, w)
}

func (b *bucket) PutBlob(ctx context.Context, ref state.BlobRef, r io.Reader) error {
	err := b.put(ctx, blobObjects, ref.Digest, ref.Size, r)
	if errors.Is(err, errConflict) {
		return nil // the other writes the same; if it fails, the blob is missing
	}
	return err
}
