package api

import (
	"net/url"
	"strings"
)

// withQuery returns the collection's address with one parameter.
func (c *call) withQuery(name, value string) *url.URL {
	u := *c.url
	u.RawQuery = url.Values{name: {value}}.Encode()
	return &u
}

// following returns the address of the next page, nil after the last:
// metadata.continue, nextPageToken, or a Link with rel=next, which must stay
// on the origin that the token belongs to.
func (c *call) following(p page, links []string) (*url.URL, error) {
	switch {
	case p.next != "":
		return c.withQuery("continue", p.next), nil
	case p.token != "":
		return c.withQuery("pageToken", p.token), nil
	}
	link := nextLink(links)
	if link == "" {
		return nil, nil
	}
	u, err := c.url.Parse(link)
	if err != nil || !c.endpoint.sameOrigin(u) {
		return nil, mismatchf("unreadable list: its next page %q is not on the platform's address", c.endpoint.redact(link))
	}
	return u, nil
}

// nextLink finds the target of rel=next in the values of Link headers
// (RFC 8288).
func nextLink(values []string) string {
	for _, value := range values {
		for _, link := range strings.Split(value, "<")[1:] {
			if target, params, ok := strings.Cut(link, ">"); ok && hasNext(params) {
				return target
			}
		}
	}
	return ""
}

func hasNext(params string) bool {
	for param := range strings.FieldsFuncSeq(params, func(r rune) bool { return r == ';' || r == ',' }) {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(strings.TrimSpace(name), "rel") && strings.EqualFold(strings.Trim(strings.TrimSpace(value), `"`), "next") {
			return true
		}
	}
	return false
}
