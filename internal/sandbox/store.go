package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// The buckets of the store, with the parts of their keys and their values. A zero
// byte joins the parts, for no name, workspace or hostname contains it.
const (
	bucketObjects  = "objects"  // resource, workspace, name: the object
	bucketHosts    = "hosts"    // workspace, hostname: name of the CDN
	bucketActive   = "active"   // workspace, hostname, name: a purge's size
	bucketExecuted = "executed" // name: how many purges were executed
	bucketRequests = "requests" // sequence: a request
	bucketMeta     = "meta"     // offset: that of the clock; its sequence is the resource version
)

const (
	keyOffset = "offset"
	lockWait  = 500 * time.Millisecond // for another process to close the store
)

// stateStore is the persistent state. It survives the end of the process, but is not synced to the disk.
type stateStore struct {
	db     *bolt.DB
	temp   string        // the directory to remove on close, or ""
	offset time.Duration // what Advance added to the clock
}

func openStore(dir string) (_ *stateStore, err error) {
	st := &stateStore{}
	if dir == "" {
		dir, err = os.MkdirTemp("", "sandbox-")
		st.temp = dir
	} else {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	file := filepath.Join(dir, "sandbox.db")
	st.db, err = bolt.Open(file, 0o600, &bolt.Options{
		Timeout: lockWait, NoSync: true, NoGrowSync: true, NoFreelistSync: true,
		FreelistType: bolt.FreelistMapType,
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		err = errors.New("another process has it open: end that first, or use the addresses that it serves")
	}
	if err == nil {
		err = st.writeTransaction(func(o objectTx) (err error) {
			for _, name := range []string{
				bucketObjects, bucketHosts, bucketActive, bucketExecuted, bucketRequests, bucketMeta,
			} {
				if _, err := o.tx.CreateBucketIfNotExists([]byte(name)); err != nil {
					return fmt.Errorf("bucket %s: %w", name, err)
				}
			}
			if raw := o.openBucket(bucketMeta).Get([]byte(keyOffset)); raw != nil {
				st.offset, err = time.ParseDuration(string(raw))
			}
			return err
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store %s: %w", file, err), st.close())
	}
	return st, nil
}

func (st *stateStore) close() error {
	var err error
	if st.db != nil {
		err = st.db.Close()
	}
	if st.temp != "" {
		err = errors.Join(err, os.RemoveAll(st.temp))
	}
	return err
}

func (st *stateStore) readTransaction(f func(objectTx) error) error {
	return st.db.View(func(tx *bolt.Tx) error { return f(objectTx{tx}) })
}

func (st *stateStore) writeTransaction(f func(objectTx) error) error {
	return st.db.Update(func(tx *bolt.Tx) error { return f(objectTx{tx}) })
}

// wrapError adds what failed to an error, if there is one.
func wrapError(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

func storeKey(parts ...string) []byte { return []byte(strings.Join(parts, "\x00")) }

// purgeSize is what an active purge counts against the limits of its hostname.
type purgeSize struct {
	Expires  time.Time `json:"expires"`
	Absolute int       `json:"absolute"`
	Prefixes int       `json:"prefixes"`
}

// objectTx reads and writes objects in one transaction.
type objectTx struct{ tx *bolt.Tx }

func (o objectTx) openBucket(name string) *bolt.Bucket { return o.tx.Bucket([]byte(name)) }

// getBytes returns the stored bytes of an object, or nil. Don't use them after the transaction.
func (o objectTx) getBytes(res *resource, ws, name string) []byte {
	return o.openBucket(bucketObjects).Get(storeKey(res.plural, ws, name))
}

func (o objectTx) getObject(res *resource, ws, name string) (object, error) {
	raw := o.getBytes(res, ws, name)
	if raw == nil {
		return nil, nil
	}
	return decodeObject(raw)
}

// eachValue calls f with the values of a bucket whose keys begin with prefix, and with what follows it in the
// key, after the given one.
func (o objectTx) eachValue(bucket string, prefix []byte, after string, f func(name string, raw []byte) error) error {
	start := append(bytes.Clone(prefix), after...)
	cursor := o.openBucket(bucket).Cursor()
	for k, v := cursor.Seek(start); bytes.HasPrefix(k, prefix); k, v = cursor.Next() {
		if after != "" && bytes.Equal(k, start) {
			continue
		}
		if err := f(string(k[len(prefix):]), v); err != nil {
			return err
		}
	}
	return nil
}

// putObject stores an object, and its entry in the index of hostnames.
func (o objectTx) putObject(res *resource, ws string, obj object) error {
	raw, err := json.Marshal(obj)
	if err == nil {
		err = o.removeObject(res, ws, obj.name())
	}
	if err == nil {
		err = o.openBucket(bucketObjects).Put(storeKey(res.plural, ws, obj.name()), raw)
	}
	if b, key, value := o.indexEntry(res, ws, obj); err == nil && b != nil {
		err = b.Put(key, value)
	}
	return wrapError(err, "store %s %q", res.plural, obj.name())
}

// removeObject deletes an object, and its entry in the index of hostnames, unless another CDN took that.
func (o objectTx) removeObject(res *resource, ws, name string) error {
	old, err := o.getObject(res, ws, name)
	if err != nil || old == nil {
		return err
	}
	if b, key, value := o.indexEntry(res, ws, old); b != nil && bytes.Equal(b.Get(key), value) {
		err = b.Delete(key)
	}
	return errors.Join(err, o.openBucket(bucketObjects).Delete(storeKey(res.plural, ws, name)))
}

// indexEntry returns the entry of an object in an index of hostnames; the bucket is nil if it has none.
func (o objectTx) indexEntry(res *resource, ws string, obj object) (b *bolt.Bucket, key, value []byte) {
	host := asText(obj.spec()["hostname"])
	switch {
	case host == "":
	case res.kind == "CDN":
		return o.openBucket(bucketHosts), storeKey(ws, host), []byte(obj.name())
	case res.kind == "Purge":
		size := sizeOf(obj.spec())
		size.Expires = obj.timeOf("creationTimestamp").Add(PurgeLife)
		return o.openBucket(bucketActive), storeKey(ws, host, obj.name()), []byte(EncodeJSON(size))
	}
	return nil, nil, nil
}

// cdnServing returns the name of the CDN that serves a hostname, or "".
func (o objectTx) cdnServing(ws, host string) string {
	return string(o.openBucket(bucketHosts).Get(storeKey(ws, host)))
}

func (o objectTx) nextVersion() (string, error) {
	n, err := o.openBucket(bucketMeta).NextSequence()
	return strconv.FormatUint(n, 10), err
}

// addExecution counts a purge as executed. An accepted purge can't be revoked.
func (o objectTx) addExecution(name string) error {
	b := o.openBucket(bucketExecuted)
	var n uint64
	if raw := b.Get([]byte(name)); raw != nil {
		n = binary.BigEndian.Uint64(raw)
	}
	return b.Put([]byte(name), binary.BigEndian.AppendUint64(nil, n+1))
}

// CountExecutedPurges returns how many times each purge was executed, by name, including
// expired purges. A number above 1 means that a purge was repeated.
func (s *Server) CountExecutedPurges() (map[string]int, error) {
	out := map[string]int{}
	err := s.store.readTransaction(func(o objectTx) error {
		return o.openBucket(bucketExecuted).ForEach(func(name, n []byte) error {
			out[string(name)] = int(binary.BigEndian.Uint64(n))
			return nil
		})
	})
	return out, wrapError(err, "executed purges")
}

const keptRequests = 20000 // in the request log

// LoggedRequest is an entry of the request log. It has no headers, so no token. Path is
// escaped; Status is 0 if no answer was sent; Time is the platform's.
type LoggedRequest struct {
	Method      string    `json:"method"`
	Path        string    `json:"path"`
	Query       string    `json:"query,omitempty"`
	ContentType string    `json:"contentType,omitempty"`
	Body        string    `json:"body,omitempty"`
	Status      int       `json:"status"`
	Time        time.Time `json:"time"`
}

// recordRequest adds to the request log. It ignores errors, so that the answer stays the same.
func (s *Server) recordRequest(entry LoggedRequest) {
	_ = s.store.writeTransaction(func(o objectTx) error {
		b := o.openBucket(bucketRequests)
		n, err := b.NextSequence()
		if err != nil {
			return err
		}
		if n > keptRequests {
			err = b.Delete(binary.BigEndian.AppendUint64(nil, n-keptRequests))
		}
		return errors.Join(err, b.Put(binary.BigEndian.AppendUint64(nil, n), []byte(EncodeJSON(entry))))
	})
	if s.opts.Log != nil {
		s.opts.Log(entry)
	}
}

// Requests returns the last 20,000 requests, the oldest first.
func (s *Server) Requests() ([]LoggedRequest, error) {
	out := []LoggedRequest{}
	err := s.store.readTransaction(func(o objectTx) error {
		return o.openBucket(bucketRequests).ForEach(func(_, raw []byte) error {
			var entry LoggedRequest
			err := json.Unmarshal(raw, &entry)
			out = append(out, entry)
			return err
		})
	})
	return out, wrapError(err, "request log")
}

// ResetRequests empties the request log.
func (s *Server) ResetRequests() error {
	return wrapError(s.store.writeTransaction(func(o objectTx) error {
		err := o.tx.DeleteBucket([]byte(bucketRequests))
		if err == nil {
			_, err = o.tx.CreateBucket([]byte(bucketRequests))
		}
		return err
	}), "reset request log")
}

// object is a decoded JSON object; numbers are json.Number.
type object map[string]any

// decodeObject decodes a text that is exactly one JSON object.
func decodeObject(raw []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var obj object
	err := dec.Decode(&obj)
	if err == nil && obj == nil {
		err = errors.New("null is not an object")
	}
	if _, more := dec.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("text after the end of the object")
	}
	return obj, wrapError(err, "decode object")
}

func (o object) meta() map[string]any { return AsMap(o["metadata"]) }
func (o object) spec() map[string]any { return AsMap(o["spec"]) }
func (o object) name() string         { return asText(o.meta()["name"]) }

// timeOf returns a time in metadata; it is zero if it can't be read.
func (o object) timeOf(member string) time.Time {
	t, _ := time.Parse(time.RFC3339, asText(o.meta()[member]))
	return t
}

// normalizeValue returns a value as the platform stores it: without nulls, also inside
// arrays, and with whole numbers in one form (10.0 as 10, 1e2 as 100).
func normalizeValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
				continue
			}
			v[name] = normalizeValue(member)
		}
	case []any:
		kept := make([]any, 0, len(v))
		for _, item := range v {
			if item != nil {
				kept = append(kept, normalizeValue(item))
			}
		}
		return kept
	case json.Number:
		return normalizeNumber(v)
	}
	return v
}

func normalizeNumber(n json.Number) json.Number {
	const exact = 1 << 53 // a float64 holds all whole numbers up to it
	f, err := n.Float64()
	if !strings.ContainsAny(n.String(), ".eE") || err != nil || f != math.Trunc(f) || math.Abs(f) > exact {
		return n
	}
	return json.Number(strconv.FormatInt(int64(f), 10))
}
