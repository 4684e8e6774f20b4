// Package traffic weighs classes of requests by access logs. It opens no file.
package traffic

import (
	"fmt"
	"io"
	"strings"

	"trueup/internal/accesslog"
	"trueup/internal/kind"
	"trueup/internal/route"
	"trueup/internal/served"
)

// Log is an access log.
type Log struct {
	Name string
	// Host is that of requests for which the log has none, or "".
	Host string
	Open func() (io.ReadCloser, error)
}

// ParseLog reads FILE or HOSTNAME=FILE.
func ParseLog(text string) Log {
	host, file, named := strings.Cut(text, "=")
	if named && host != "" && strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789-.") == "" {
		return Log{Name: file, Host: host}
	}
	return Log{Name: text}
}

// addresses is how many are listed of a class.
const addresses = 3

// scale counts requests by the class that they have on the first and the last of its sides.
type scale struct {
	sides   []served.Side
	maps    map[kind.Key]*route.Map
	numbers map[*route.Class]int
	classes []counted
	logs    []accesslog.Log
}

// counted is a class of the requests of a CDN. Example has the address of its first request.
type counted struct {
	kind.Key
	*route.Class
	example string
	traffic accesslog.Class
}

func weigh(sides []served.Side, logs []Log) (*scale, error) {
	s := &scale{sides: sides, maps: map[kind.Key]*route.Map{}, numbers: map[*route.Class]int{}}
	counter := accesslog.NewCounter(s.classOf)
	for _, log := range logs {
		read, err := log.count(counter)
		if err != nil {
			return nil, fmt.Errorf("--log %s: %w", log.Name, err)
		}
		s.logs = append(s.logs, read)
	}
	for i, class := range counter.Classes(addresses) {
		s.classes[i].traffic = class
	}
	return s, nil
}

func (l Log) count(c *accesslog.Counter) (read accesslog.Log, err error) {
	file, err := l.Open()
	if err != nil {
		return read, err
	}
	defer func() { _ = file.Close() }()
	read, err = c.Read(file, l.Host)
	if err == nil && read.Requests == 0 && read.NoHost.Count > 0 {
		err = fmt.Errorf("no request has a hostname: if all are for one, write --log HOSTNAME=%s", l.Name)
	}
	read.Name = l.Name
	return read, err
}

// classOf implements accesslog.ClassOf.
func (s *scale) classOf(host, path string) (number int, address string) {
	host, path = kind.HostKey(host), route.Normal(path)
	key, isKnown := s.find(host)
	if !isKnown {
		return -1, ""
	}
	if s.maps[key] == nil {
		s.maps[key] = route.NewMap(s.sides[len(s.sides)-1].Site(key), s.sides[0].Site(key))
	}
	class := s.maps[key].Find(host, path)
	number, isKnown = s.numbers[class]
	if !isKnown {
		number, s.numbers[class] = len(s.classes), len(s.classes)
		s.classes = append(s.classes, counted{Key: key, Class: class, example: host + path})
	}
	return number, host + path
}

// find returns the CDN that has a host on a side, the first that has one.
func (s *scale) find(host string) (key kind.Key, isKnown bool) {
	for _, side := range s.sides {
		switch cdn, err := side.Find(host); {
		case err != nil:
			return key, false
		case cdn != nil:
			return cdn.Key, true
		}
	}
	return key, false
}
