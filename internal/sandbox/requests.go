package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Request is an entry of the request log. Headers are not kept, so no token
// is. Path is escaped as it came; Status is 0 where no answer was sent; Time
// is the platform's.
type Request struct {
	Method      string    `json:"method"`
	Path        string    `json:"path"`
	Query       string    `json:"query,omitempty"`
	ContentType string    `json:"contentType,omitempty"`
	Body        string    `json:"body,omitempty"`
	Status      int       `json:"status"`
	Time        time.Time `json:"time"`
}

// record adds to the request log. A log that cannot be written must not change
// what the platform answers.
func (s *Server) record(entry Request) {
	_ = s.store.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucketRequests))
		n, err := b.NextSequence()
		if err != nil {
			return err
		}
		raw, err := json.Marshal(entry)
		if err != nil {
			return err
		}
		if n > keptRequests {
			if err := b.Delete(binary.BigEndian.AppendUint64(nil, n-keptRequests)); err != nil {
				return err
			}
		}
		return b.Put(binary.BigEndian.AppendUint64(nil, n), raw)
	})
	if s.opts.Log != nil {
		s.opts.Log(entry)
	}
}

// Requests returns the request log, the oldest first: at most the last 20,000.
func (s *Server) Requests() ([]Request, error) {
	out := []Request{}
	err := s.store.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucketRequests)).ForEach(func(_, raw []byte) error {
			var entry Request
			if err := json.Unmarshal(raw, &entry); err != nil {
				return err
			}
			out = append(out, entry)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("request log: %w", err)
	}
	return out, nil
}

// ResetRequests empties the request log.
func (s *Server) ResetRequests() error {
	err := s.store.db.Update(func(tx *bolt.Tx) error {
		if err := tx.DeleteBucket([]byte(bucketRequests)); err != nil {
			return err
		}
		_, err := tx.CreateBucket([]byte(bucketRequests))
		return err
	})
	if err != nil {
		return fmt.Errorf("reset request log: %w", err)
	}
	return nil
}

// Executed returns how many purges of each name the platform executed in its
// whole life, also of those that are long gone. More than one is a purge that
// was done again. An accepted purge counts at once: nothing can call it back.
func (s *Server) Executed() (map[string]int, error) {
	out, err := s.store.executed()
	if err != nil {
		return nil, fmt.Errorf("executed purges: %w", err)
	}
	return out, nil
}
