package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"
)

// keptRequests bounds the request log; the oldest give way.
const keptRequests = 20000

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
	_ = s.store.update(func(o objects) error {
		b := o.bucket(bucketRequests)
		n, err := b.NextSequence()
		if err != nil {
			return err
		}
		if n > keptRequests {
			if err := b.Delete(binary.BigEndian.AppendUint64(nil, n-keptRequests)); err != nil {
				return err
			}
		}
		return b.Put(binary.BigEndian.AppendUint64(nil, n), []byte(jsonText(entry)))
	})
	if s.opts.Log != nil {
		s.opts.Log(entry)
	}
}

// Requests returns the request log, the oldest first: at most the last 20,000.
func (s *Server) Requests() ([]Request, error) {
	out := []Request{}
	err := s.store.view(func(o objects) error {
		return o.bucket(bucketRequests).ForEach(func(_, raw []byte) error {
			var entry Request
			err := json.Unmarshal(raw, &entry)
			out = append(out, entry)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("request log: %w", err)
	}
	return out, nil
}

// ResetRequests empties the request log.
func (s *Server) ResetRequests() error {
	err := s.store.update(func(o objects) error {
		if err := o.tx.DeleteBucket([]byte(bucketRequests)); err != nil {
			return err
		}
		_, err := o.tx.CreateBucket([]byte(bucketRequests))
		return err
	})
	if err != nil {
		return fmt.Errorf("reset request log: %w", err)
	}
	return nil
}
