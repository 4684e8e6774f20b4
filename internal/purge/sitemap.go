package purge

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Sitemap is a list of pages, or an index of such lists (sitemaps.org).
type Sitemap struct {
	Pages []Line
	// Index are the addresses of other sitemaps.
	Index []Line
}

// errDTD says why a sitemap with a document type is not read: it can name files
// and addresses, and none has one.
var errDTD = errors.New("it has a document type (<!DOCTYPE …>), which a sitemap does not need: remove it")

// ReadSitemap reads a sitemap. It opens nothing that the file names.
func ReadSitemap(r io.Reader) (Sitemap, error) {
	d := xml.NewDecoder(r)
	d.CharsetReader = func(charset string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("it is encoded as %.40s, and sitemaps must be UTF-8", charset)
	}
	var s Sitemap
	var path []string
	var text strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return s, s.check(len(path))
		}
		if err != nil {
			return Sitemap{}, fmt.Errorf("it is not a sitemap: %w", err)
		}
		switch t := token.(type) {
		case xml.Directive:
			return Sitemap{}, errDTD
		case xml.StartElement:
			if path = append(path, t.Name.Local); len(path) > maxDepth {
				return Sitemap{}, fmt.Errorf("it is not a sitemap: its elements are more than %d deep", maxDepth)
			}
			text.Reset()
		case xml.CharData:
			if len(path) != locDepth {
				continue
			}
			if text.Write(t); text.Len() > maxLine {
				return Sitemap{}, fmt.Errorf("it has an address of more than %d bytes", maxLine)
			}
		case xml.EndElement:
			line, _ := d.InputPos()
			if len(path) == locDepth {
				s.add(strings.Join(path, "/"), Line{strings.TrimSpace(text.String()), line})
			}
			path = path[:len(path)-1]
		}
	}
}

// locDepth is how deep an address stands: urlset/url/loc. Extensions of sitemaps
// go a little deeper, and nothing goes as deep as maxDepth.
const (
	locDepth = 3
	maxDepth = 50
)

func (s *Sitemap) add(path string, line Line) {
	switch path {
	case "urlset/url/loc":
		s.Pages = append(s.Pages, line)
	case "sitemapindex/sitemap/loc":
		s.Index = append(s.Index, line)
	}
}

func (s *Sitemap) check(open int) error {
	if open > 0 || len(s.Pages)+len(s.Index) == 0 {
		return errors.New("it has no page: a sitemap has <urlset> with a <loc> for each page (sitemaps.org)")
	}
	return nil
}
