package purge

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Line is an entry of a list, and its line number from 1.
type Line struct {
	Text string
	Line int
}

// maxLine limits a line of a list, in bytes: no server accepts a longer address.
const maxLine = 64 << 10

// ReadLines reads a list with one entry a line. It skips blank lines and those that start with #, and trims entries.
func ReadLines(r io.Reader) ([]Line, error) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), maxLine)
	var list []Line
	for n := 1; s.Scan(); n++ {
		line := s.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if text := strings.TrimSpace(string(line)); text != "" && text[0] != '#' {
			list = append(list, Line{text, n})
		}
	}
	err := s.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("it has a line of more than %d bytes: write one entry a line", maxLine)
	}
	return list, err
}

// Sitemap lists pages, or other sitemaps (sitemaps.org).
type Sitemap struct {
	Pages []Line
	Index []Line // the addresses of other sitemaps
}

// errDTD rejects a document type, which could name files and addresses.
var errDTD = errors.New("it has a document type (<!DOCTYPE …>), which a sitemap does not need: remove it")

// ReadSitemap reads a sitemap, and opens nothing that it names.
func ReadSitemap(r io.Reader) (s Sitemap, err error) {
	d := xml.NewDecoder(r)
	d.CharsetReader = func(charset string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("it is encoded as %.40s, and sitemaps must be UTF-8", charset)
	}
	var root struct {
		XMLName xml.Name
		Pages   []Line `xml:"url>loc"`
		Index   []Line `xml:"sitemap>loc"`
	}
	for root.XMLName.Local == "" && err == nil {
		var token xml.Token
		token, err = d.Token()
		switch t := token.(type) {
		case xml.Directive:
			return s, errDTD
		case xml.StartElement:
			err = d.DecodeElement(&root, &t)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return s, fmt.Errorf("it is not a sitemap: %w", err)
	}
	switch root.XMLName.Local {
	case "urlset":
		s.Pages = root.Pages
	case "sitemapindex":
		s.Index = root.Index
	}
	if len(s.Pages)+len(s.Index) == 0 {
		return s, errors.New("it has no page: a sitemap has <urlset> with a <loc> for each page (sitemaps.org)")
	}
	return s, nil
}

// UnmarshalXML reads the text of an element, and the line where it ends.
func (l *Line) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	err := d.DecodeElement(&l.Text, &start)
	if len(l.Text) > maxLine {
		err = fmt.Errorf("it has an address of more than %d bytes", maxLine)
	}
	l.Text = strings.TrimSpace(l.Text)
	l.Line, _ = d.InputPos()
	return err
}
