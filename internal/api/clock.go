package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"trueup/internal/kind"
)

// Reading is what one uncached GET said of the time (docs/design.md 0.8).
type Reading struct {
	// Server is the Date of the answer plus its Age; zero where it had no Date
	// that can be read.
	Server time.Time
	// Wall is this machine's time when the head of the answer had arrived. It
	// has no monotonic part, which stands still while a machine sleeps.
	Wall time.Time
}

// Clock asks the platform for the time: a GET of an object, always over the
// network, whose 404 serves as well as the object. The kind must have a GET.
func (r *Reader) Clock(ctx context.Context, k *kind.Kind, name string) (Reading, error) {
	c, err := r.newCall(kind.Get, k, name)
	if err != nil {
		return Reading{}, err
	}
	var at Reading
	err = r.retry(ctx, func(attempt int) (err error) {
		at, err = r.clockOnce(ctx, c, attempt)
		return err
	})
	return at, err
}

func (r *Reader) clockOnce(ctx context.Context, c *call, attempt int) (Reading, error) {
	a, err := r.send(ctx, r.gets, c, attempt)
	if err != nil {
		return Reading{}, err
	}
	defer a.close()
	at := Reading{Wall: r.cfg.Now().Round(0)}
	at.Server, _ = dateOf(a.Response)
	if !isSuccess(a) {
		if e := r.answered(c, a); !e.NotFound() {
			return Reading{}, e
		}
		return at, nil
	}
	// A body that is read to its end leaves the connection to the request that
	// the time is asked for; what is longer, or cut, matters no more than that.
	body, _ := io.ReadAll(io.LimitReader(a, r.cfg.MaxErrorBody))
	if looksHTML(body) {
		return Reading{}, c.unreadable(a, errors.New("it is a page"), head(body))
	}
	return at, nil
}

// dateOf is the time at which an answer left the platform, also where a cache
// has kept it since.
func dateOf(resp *http.Response) (time.Time, bool) {
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return time.Time{}, false
	}
	return date.Add(seconds(resp.Header.Get("Age"), maxAge)), true
}

// maxAge is where the Age of an answer ends (RFC 9111 1.2.2).
const maxAge = (1 << 31) * time.Second
