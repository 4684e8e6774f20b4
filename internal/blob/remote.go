package blob

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"trueup/internal/diag"
)

const (
	maxTries     = 6 // limits the attempts of one request
	removeAtOnce = 8 // limits the requests of Remove at a time
)

var (
	errAnswered = errors.New("the server accepted it")
	errTaken    = errors.New("another object has the name")
	errUnsafe   = errors.New("the server accepted a second creation of an object. It is not safe for a ledger, because two runs could send the same request: use another store")
)

// RemoteStore is a prefix of a store on a server. It creates objects only where none has the name, and never replaces one.
// CheckRefusesCreation detects servers that ignore this condition.
type RemoteStore struct {
	server server
	prefix string
	// pause is roughly the first wait before a retry. patience limits the time of a request with its retries.
	pause, patience time.Duration
}

// server is one protocol. Each call is one request, without retries.
type server interface {
	// put creates an object if none has the key. confirmed reports whether the server stored exactly this content.
	put(ctx context.Context, key string, content []byte) (confirmed bool, err error)
	// get returns the content, or ErrAbsent.
	get(ctx context.Context, key string) ([]byte, error)
	// listPage returns at most most keys with a prefix in byte order, and the token of the next page, or "".
	listPage(ctx context.Context, prefix, token string, most int) (keys []string, next string, err error)
	// remove removes an object.
	remove(ctx context.Context, key string) error
	// prepare makes what an empty store needs.
	prepare(ctx context.Context) error
	// classifyError says what an error of put means, and of the others whether it is temporary.
	classifyError(err error) failureVerdict
	// hint returns ": FIX" for an error, or "". Rights are needed below prefix.
	hint(err error, prefix string) string
	// location returns the address of a key.
	location(key string) string
	// withOwnConnection returns a server with a connection of its own, which close ends.
	withOwnConnection() server
	close() error
}

// failureVerdict says what a failed request means.
type failureVerdict int

const (
	final     failureVerdict = iota // nothing was written, and a retry would fail too
	temporary                       // a retry may succeed
	unclear                         // a put may have been executed, or another one be under way
	exists                          // the server says that an object has the key
)

func newRemoteStore(s server, prefix string) *RemoteStore {
	return &RemoteStore{server: s, prefix: prefix, pause: 100 * time.Millisecond, patience: time.Minute}
}

// Prepare prepares the server. A bucket needs nothing.
func (s *RemoteStore) Prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	return s.explainFailure("prepare", "", s.server.prepare(ctx))
}

// SubStore returns the store with the prefix PREFIX/FOLDER.
func (s *RemoteStore) SubStore(folder string) Store {
	below := *s
	below.prefix, below.server = path.Join(s.prefix, folder), s.server.withOwnConnection()
	return &below
}

// Close ends the connection.
func (s *RemoteStore) Close() error { return s.server.close() }

// Location returns the object's address.
func (s *RemoteStore) Location(name string) string { return s.server.location(s.objectKey(name)) }

// Create creates objects.
func (s *RemoteStore) Create(ctx context.Context, blobs ...Blob) error {
	for _, b := range blobs {
		err := s.retryWrite(ctx, func() (bool, error) { return s.tryCreate(ctx, b) })
		if err != nil {
			return s.explainFailure("create", b.Name, err)
		}
	}
	return nil
}

// Remove removes objects.
func (s *RemoteStore) Remove(ctx context.Context, names ...string) error {
	return diag.TryInParallel(ctx, removeAtOnce, len(names), func(ctx context.Context, i int) error {
		err := s.retryRead(ctx, func(ctx context.Context) error { return s.server.remove(ctx, s.objectKey(names[i])) })
		return s.explainFailure("remove", names[i], err)
	})
}

// retryWrite calls try until it succeeds, or returns again as false because another attempt is useless.
func (s *RemoteStore) retryWrite(ctx context.Context, try func() (again bool, err error)) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier = s.pause, 2
	for n := 1; ; n++ {
		again, err := try()
		if err == nil || !again || n == maxTries || Sleep(ctx, wait.NextBackOff()) != nil {
			return err
		}
	}
}

// tryCreate sends one put. Unless the server confirms exactly this content, it reads the object: an answer may be lost,
// and a proxy may have sent the request twice. again reports that the object does not exist and a retry may create it.
func (s *RemoteStore) tryCreate(ctx context.Context, b Blob) (again bool, err error) {
	confirmed, sent := s.putObject(ctx, b.Name, b.Content)
	if confirmed || sent != nil && s.server.classifyError(sent) == final {
		return false, sent
	}
	have, err := s.getObject(ctx, b.Name)
	switch {
	case err == nil && bytes.Equal(have, b.Content):
		return false, nil
	case err == nil && sent == nil:
		return false, errUnsafe
	case err == nil:
		return false, ErrExists
	case !errors.Is(err, ErrAbsent):
		return false, fmt.Errorf("%w; looking whether it was written: %w", cmp.Or(sent, errAnswered), err)
	case sent == nil || s.server.classifyError(sent) == exists:
		return false, errors.New("the server answered that it exists, but does not show it: this store is not safe for a ledger")
	}
	return true, sent
}

// CheckRefusesCreation creates an existing object again with the same content. The server must reject that.
func (s *RemoteStore) CheckRefusesCreation(ctx context.Context, name string) error {
	content, err := s.Get(ctx, name)
	if err != nil {
		return err
	}
	err = s.retryWrite(ctx, func() (bool, error) {
		_, err := s.putObject(ctx, name, content)
		if err == nil {
			return false, errUnsafe
		}
		v := s.server.classifyError(err)
		if v == exists {
			return false, nil
		}
		return v != final, err
	})
	return s.explainFailure("prove", name, err)
}

func (s *RemoteStore) putObject(ctx context.Context, name string, content []byte) (confirmed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	return s.server.put(ctx, s.objectKey(name), content)
}

// retryRead makes a request that is safe to repeat, and retries while the failure may be temporary.
func (s *RemoteStore) retryRead(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	return s.retryWrite(ctx, func() (again bool, err error) {
		err = request(ctx)
		return err != nil && ctx.Err() == nil && !errors.Is(err, ErrAbsent) && s.server.classifyError(err) == temporary, err
	})
}

// Get reads an object.
func (s *RemoteStore) Get(ctx context.Context, name string) ([]byte, error) {
	content, err := s.getObject(ctx, name)
	return content, s.explainFailure("read", name, err)
}

// GetOld reads an object.
func (s *RemoteStore) GetOld(ctx context.Context, name string, _ int) ([]byte, error) {
	return s.Get(ctx, name)
}

func (s *RemoteStore) getObject(ctx context.Context, name string) (content []byte, err error) {
	err = s.retryRead(ctx, func(ctx context.Context) (err error) {
		content, err = s.server.get(ctx, s.objectKey(name))
		return err
	})
	return content, err
}

// List lists the objects.
func (s *RemoteStore) List(ctx context.Context, under string, most int) ([]string, error) {
	const all = 1000
	var names []string
	prefix := strings.TrimPrefix(s.objectKey(under)+"/", "/")
	for token := ""; ; {
		keys, next, err := s.listPage(ctx, prefix, token, min(cmp.Or(most, all), all))
		if err != nil {
			return nil, s.explainFailure("list", under, err)
		}
		for _, key := range keys {
			names = append(names, path.Join(under, strings.TrimPrefix(key, prefix)))
		}
		switch {
		case next == "" || most > 0 && len(names) >= most:
			return names, nil
		case next == token:
			return nil, s.explainFailure("list", under, errors.New("the listing repeats itself"))
		}
		token = next
	}
}

func (s *RemoteStore) listPage(ctx context.Context, prefix, token string, most int) (keys []string, next string, err error) {
	err = s.retryRead(ctx, func(ctx context.Context) (err error) {
		keys, next, err = s.server.listPage(ctx, prefix, token, most)
		return err
	})
	for _, key := range keys {
		if !strings.HasPrefix(key, prefix) && err == nil {
			err = fmt.Errorf("the answer contains %q", key)
		}
	}
	return keys, next, err
}

// Clear removes every object below the prefix.
func (s *RemoteStore) Clear(ctx context.Context) error {
	whole := *s
	whole.prefix = ""
	names, err := whole.List(ctx, s.prefix, 0)
	if err != nil {
		return err
	}
	return whole.Remove(ctx, names...)
}

func (s *RemoteStore) objectKey(name string) string {
	return strings.TrimPrefix(s.prefix+"/"+name, "/")
}

// explainFailure adds the object and a fix to an error.
func (s *RemoteStore) explainFailure(doing, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w%s", doing, s.Location(name), err, s.server.hint(err, s.prefix))
}
