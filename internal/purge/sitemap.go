package purge

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Sitemap lists pages, or other sitemaps (sitemaps.org).
type Sitemap struct {
	Pages []Line
	// Index are the addresses of other sitemaps.
	Index []Line
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
