package routing

import (
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string][2]string{
		"https://shop.example.com":                       {"shop.example.com", "/"},
		"https://Shop.Example.com./a/../b?q=/../c#d":     {"shop.example.com", "/b"},
		"http://shop.example.com:80/%7Ea%2fb":            {"shop.example.com", "/~a%2Fb"},
		"https://Bücher.example/":                        {"xn--bcher-kva.example", "/"},
		"https://my_shop.example.com/":                   {"my_shop.example.com", "/"},
		"https://[2001:DB8::1]/":                         {"2001:db8::1", "/"},
		"HTTPS://shop.example.com?next=/login":           {"shop.example.com", "/"},
		"https://shop.example.com:443/a b/ä":             {"shop.example.com", "/a%20b/%C3%A4"},
		"https://shop.example.com/https://x.example.com": {"shop.example.com", "/https://x.example.com"},
		`https:\\shop.example.com\a\..\b`:                {"shop.example.com", "/b"},
		"https://shop.example.com/a?100%#100%":           {"shop.example.com", "/a"},
	} {
		if got, err := ParseURL(text); err != nil || got.Host != want[0] || got.Path != want[1] {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                 "is not absolute",
		"/static/app.css":                  "is not absolute",
		"shop.example.com/a":               "is not absolute",
		"//shop.example.com/a":             "is not absolute",
		"ftp://shop.example.com/a":         "is neither http nor https",
		"shop.example.com:443/a":           "is not absolute",
		"mailto:a@shop.example.com":        "is neither http nor https",
		"file:///a":                        "is neither http nor https",
		"https:///a":                       "is not absolute",
		"https://user:pw@shop.example.com": "user or password",
		"https://shop.example.com:8443/":   "has a port",
		"https://shop.example.com:80/":     "has a port",
		"https://shop.example.com/%zz":     `"%zz" in the URL is no escape: write % as %25`,
		"https://sh%6fp.example.com/":      `the URL can't be read, invalid URL escape "%6f": write https://HOSTNAME/PATH`,
		"https://[::1/":                    "the URL can't be read, missing ']' in host: write https://HOSTNAME/PATH",
		"https://me:pw/x@shop.example.com": "the URL can't be read, and may have a password: write https://HOSTNAME/PATH",
	} {
		if got, err := ParseURL(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
	}
}
