// Package accesslog counts the requests of access logs by class, and finds the addresses that each class is
// asked for most. It keeps no query string, cookie or client address.
package accesslog

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// The memory of a Counter has these limits, whatever it reads.
const (
	longestLine    = 1 << 20
	longestAddress = 1 << 9
	mostAddresses  = 1 << 16 // or four of each class
	mostOfClass    = 1000
)

// ClassOf returns the class of a request and the address under which it is listed, or "" to list it nowhere. A
// negative class is not counted. The path has no query, but may have any bytes. The class of an address is that of its
// host and path.
type ClassOf func(host, path string) (class int, address string)

// Counter counts requests.
type Counter struct {
	classOf ClassOf
	classes []Class
	// ofClass is how many addresses of a class outlast a prune at most, and limit how many of all are kept until then.
	ofClass, limit int
	// entries finds an entry by the address that is shown, and raw by another one that the log has.
	raw, entries map[string]*entry
	key          []byte
}

type entry struct {
	class    int
	address  string
	requests int64
}

// Class is what the logs say of a class.
type Class struct {
	Requests int64 `json:"requests"`
	// Addresses are those with the most requests, the first has most. Each count may be too low by up to Slack;
	// no address that was forgotten has more requests than that. It is 0 unless there were too many addresses.
	Addresses []Address `json:"addresses,omitempty"`
	Slack     int64     `json:"slack,omitempty"`
}

// Address is a host and a path.
type Address struct {
	Address  string `json:"address"`
	Requests int64  `json:"requests"`
}

// Log is what was read of one log.
type Log struct {
	Name string `json:"name"`
	// Requests have a host.
	Requests int64 `json:"requests"`
	// Unread are lines in which no request was found, and NoHost requests without a host.
	Unread Lines `json:"unread,omitzero"`
	NoHost Lines `json:"noHost,omitzero"`
}

// Lines are lines of a log.
type Lines struct {
	Count int64 `json:"count"`
	First int64 `json:"first"` // counted from 1; 0 for none
}

func (l *Lines) add(line int64) {
	if l.Count++; l.First == 0 {
		l.First = line
	}
}

// NewCounter returns a Counter.
func NewCounter(of ClassOf) *Counter {
	return &Counter{classOf: of, ofClass: mostOfClass, limit: mostAddresses, raw: map[string]*entry{}, entries: map[string]*entry{}}
}

// Read counts the requests of a log, which may be compressed with gzip or zstd. The host is that of requests
// for which the log has none, or "". What precedes an error is counted.
func (c *Counter) Read(log io.Reader, host string) (Log, error) {
	var out Log
	plain, err := decompressed(log)
	if err != nil {
		return out, err
	}
	lines := bufio.NewReaderSize(plain, longestLine)
	var p parser
	for n := int64(1); ; n++ {
		line, err := lines.ReadSlice('\n')
		tooLong := false
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
			tooLong = true
		}
		if err != nil && err != io.EOF {
			return out, fmt.Errorf("line %d: %w", n, err)
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			c.line(&out, &p, n, line, tooLong, host)
		}
		if err == io.EOF {
			return out, nil
		}
	}
}

func (c *Counter) line(out *Log, p *parser, n int64, line []byte, tooLong bool, host string) {
	r, found := p.parse(line)
	switch {
	case r.comment:
	case !found || tooLong || !isHost(r.host):
		out.Unread.add(n)
	case len(r.host) == 0 && host == "":
		out.NoHost.add(n)
	default:
		out.Requests++
		c.count(r, host)
	}
}

func (c *Counter) count(r request, host string) {
	if len(r.host) > 0 {
		host = ""
	}
	c.key = append(append(append(c.key[:0], host...), r.host...), r.path...)
	e, known := c.entries[string(c.key)]
	if !known {
		e, known = c.raw[string(c.key)]
	}
	if !known {
		e = c.enter(string(c.key), len(c.key)-len(r.path))
	}
	if e.class >= 0 {
		c.classes[e.class].Requests++
		e.requests++
	}
}

// enter returns the entry of an address that is new, or was forgotten.
func (c *Counter) enter(key string, host int) *entry {
	limit := max(c.limit, 4*len(c.classes))
	if len(c.raw) >= limit {
		clear(c.raw)
	}
	if len(c.entries) >= limit {
		clear(c.raw)
		c.prune()
	}
	e := &entry{}
	e.class, e.address = c.classOf(key[:host], key[host:])
	for e.class >= len(c.classes) {
		c.classes = append(c.classes, Class{})
	}
	if max(len(e.address), len(key)) > longestAddress {
		return e
	}
	if e.class < 0 || e.address == "" {
		c.raw[key] = e
		return e
	}
	if e.address == key {
		e.address = key // not a copy of it
	} else if known, ok := c.entries[e.address]; ok {
		c.raw[key] = known
		return known
	} else {
		c.raw[key] = e
	}
	c.entries[e.address] = e
	return e
}

// prune keeps the addresses of a class that have more requests than the first it has no room for, and takes as
// many requests from each (Misra and Gries, 1982). As that is taken from more addresses than have room, all
// that is ever taken is at most the requests of the class divided by their number.
func (c *Counter) prune() {
	room := max(1, min(c.ofClass, c.limit/2/len(c.classes)))
	of := make([][]*entry, len(c.classes))
	for _, e := range c.entries {
		of[e.class] = append(of[e.class], e)
	}
	clear(c.entries)
	for class, list := range of {
		if len(list) > room {
			slices.SortFunc(list, func(a, b *entry) int { return cmp.Compare(b.requests, a.requests) })
			taken := list[room].requests
			c.classes[class].Slack += taken
			for _, e := range list {
				e.requests -= taken
			}
		}
		for _, e := range list {
			if e.requests > 0 {
				c.entries[e.address] = e
			}
		}
	}
}

// Classes returns what has been counted, with at most that many addresses of each class. It ends with the last
// class that was seen.
func (c *Counter) Classes(addresses int) []Class {
	out := slices.Clone(c.classes)
	most := func(a, b *entry) int {
		return cmp.Or(cmp.Compare(b.requests, a.requests), cmp.Compare(a.address, b.address))
	}
	for _, e := range slices.SortedFunc(maps.Values(c.entries), most) {
		if class := &out[e.class]; len(class.Addresses) < addresses {
			class.Addresses = append(class.Addresses, Address{e.address, e.requests})
		}
	}
	return out
}
