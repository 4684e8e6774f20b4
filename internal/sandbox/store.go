package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// The buckets of the store. Keys are parts joined by a zero byte, which no
// name, workspace or hostname can hold.
const (
	bucketObjects  = "objects"  // resource, workspace, name: the object
	bucketHosts    = "hosts"    // workspace, hostname: name of the CDN
	bucketActive   = "active"   // workspace, hostname, name: a purge's size
	bucketExecuted = "executed" // name: how many purges were executed
	bucketRequests = "requests" // sequence: a request
	bucketMeta     = "meta"     // clock; its sequence is the resource version
)

const (
	keyOffset = "offset"
	// keptRequests bounds the request log; the oldest give way.
	keptRequests = 20000
	// lockWait is how long to wait for another process that has the store.
	lockWait = 500 * time.Millisecond
)

// store is the persistent state. It does not sync to the disk: it survives
// the end of the process, which is all that a sandbox needs.
type store struct {
	db   *bolt.DB
	temp string
}

func openStore(dir string) (*store, error) {
	st := &store{}
	if dir == "" {
		temp, err := os.MkdirTemp("", "sandbox-")
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		dir, st.temp = temp, temp
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	file := filepath.Join(dir, "sandbox.db")
	db, err := bolt.Open(file, 0o600, &bolt.Options{
		Timeout: lockWait, NoSync: true, NoGrowSync: true, NoFreelistSync: true,
		FreelistType: bolt.FreelistMapType,
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		err = errors.New("another process has it open: end that first, or work with the addresses that it serves")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store %s: %w", file, err), st.close())
	}
	st.db = db
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{bucketObjects, bucketHosts, bucketActive, bucketExecuted, bucketRequests, bucketMeta} {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return fmt.Errorf("bucket %s: %w", name, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store %s: %w", file, err), st.close())
	}
	return st, nil
}

func (st *store) close() error {
	var err error
	if st.db != nil {
		err = st.db.Close()
	}
	if st.temp != "" {
		err = errors.Join(err, os.RemoveAll(st.temp))
	}
	return err
}

func (st *store) offset() (time.Duration, error) {
	var d time.Duration
	err := st.db.View(func(tx *bolt.Tx) error {
		raw := tx.Bucket([]byte(bucketMeta)).Get([]byte(keyOffset))
		if raw == nil {
			return nil
		}
		var err error
		d, err = time.ParseDuration(string(raw))
		return err
	})
	return d, err
}

func (st *store) setOffset(d time.Duration) error {
	return st.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucketMeta)).Put([]byte(keyOffset), []byte(d.String()))
	})
}

func storeKey(parts ...string) []byte { return []byte(strings.Join(parts, "\x00")) }

// purgeSize is what an active purge takes from the limits of its hostname.
type purgeSize struct {
	Expires  time.Time `json:"expires"`
	Absolute int       `json:"absolute"`
	Prefixes int       `json:"prefixes"`
}

// objects is the typed view of one transaction.
type objects struct{ tx *bolt.Tx }

func (o objects) bucket(name string) *bolt.Bucket { return o.tx.Bucket([]byte(name)) }

// raw returns the stored bytes of an object, or nil. They are valid until the
// transaction ends.
func (o objects) raw(res *resource, ws, name string) []byte {
	return o.bucket(bucketObjects).Get(storeKey(res.plural, ws, name))
}

func (o objects) get(res *resource, ws, name string) (object, error) {
	raw := o.raw(res, ws, name)
	if raw == nil {
		return nil, nil
	}
	return decodeObject(raw)
}

// each calls f with every stored object of a workspace after the named one,
// in order of names, until f returns false.
func (o objects) each(res *resource, ws, after string, f func(name string, raw []byte) (bool, error)) error {
	prefix := storeKey(res.plural, ws, "")
	cursor := o.bucket(bucketObjects).Cursor()
	start := storeKey(res.plural, ws, after)
	for k, v := cursor.Seek(start); bytes.HasPrefix(k, prefix); k, v = cursor.Next() {
		if after != "" && bytes.Equal(k, start) {
			continue
		}
		more, err := f(string(k[len(prefix):]), v)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// put stores an object and keeps the index of hostnames.
func (o objects) put(res *resource, ws string, obj object) error {
	if err := o.unindex(res, ws, obj.name()); err != nil {
		return err
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		return fmt.Errorf("store %s %q: %w", res.plural, obj.name(), err)
	}
	if err := o.bucket(bucketObjects).Put(storeKey(res.plural, ws, obj.name()), raw); err != nil {
		return fmt.Errorf("store %s %q: %w", res.plural, obj.name(), err)
	}
	if host := text(obj.spec()["hostname"]); host != "" {
		return res.index(o, ws, host, obj)
	}
	return nil
}

func (o objects) remove(res *resource, ws, name string) error {
	if err := o.unindex(res, ws, name); err != nil {
		return err
	}
	return o.bucket(bucketObjects).Delete(storeKey(res.plural, ws, name))
}

func (o objects) unindex(res *resource, ws, name string) error {
	old, err := o.get(res, ws, name)
	if err != nil || old == nil {
		return err
	}
	host := text(old.spec()["hostname"])
	if err := o.bucket(bucketActive).Delete(storeKey(ws, host, name)); err != nil {
		return err
	}
	hosts := o.bucket(bucketHosts)
	if res.plural == "cdns" && string(hosts.Get(storeKey(ws, host))) == name {
		return hosts.Delete(storeKey(ws, host))
	}
	return nil
}

// cdnOf returns the name of the CDN that has a hostname, or "".
func (o objects) cdnOf(ws, host string) string {
	return string(o.bucket(bucketHosts).Get(storeKey(ws, host)))
}

// nextVersion returns a resource version that no object has had.
func (o objects) nextVersion() (string, error) {
	n, err := o.bucket(bucketMeta).NextSequence()
	return strconv.FormatUint(n, 10), err
}

// version returns the newest resource version.
func (o objects) version() string {
	return strconv.FormatUint(o.bucket(bucketMeta).Sequence(), 10)
}

// countExecution notes that a purge will be executed: nothing can call back
// one that was accepted.
func (o objects) countExecution(name string) error {
	b := o.bucket(bucketExecuted)
	var n uint64
	if raw := b.Get([]byte(name)); raw != nil {
		n = binary.BigEndian.Uint64(raw)
	}
	return b.Put([]byte(name), binary.BigEndian.AppendUint64(nil, n+1))
}

func (st *store) executed() (map[string]int, error) {
	out := map[string]int{}
	err := st.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucketExecuted)).ForEach(func(k, v []byte) error {
			out[string(k)] = int(binary.BigEndian.Uint64(v))
			return nil
		})
	})
	return out, err
}
