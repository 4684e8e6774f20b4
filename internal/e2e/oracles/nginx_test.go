package oracles

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trueup/internal/routing"
)

// TestNginxByPath: within a server, nginx takes the longest path.
func TestNginxByPath(t *testing.T) {
	sets := drawAll(t)
	for i := range sets {
		for j := range sets[i].locations {
			sets[i].locations[j].host = ""
		}
		sets[i].forNginx()
	}
	compare(t, nginx(t, sets), sets, routing.LongestPath, routing.FirstInList)
}

// TestNginxByHost: nginx takes the server with the longest name, and then one of its locations only. So each
// host of a set gets a location that serves the rest of its requests.
func TestNginxByHost(t *testing.T) {
	sets := drawAll(t)
	for i := range sets {
		s := &sets[i]
		for _, l := range slices.Clone(s.locations) {
			s.locations = append(s.locations, location{l.host, "/*"})
		}
		s.forNginx()
	}
	compare(t, nginx(t, sets), sets, routing.LongestHost, routing.LongestPath)
}

// forNginx leaves out what nginx has no word for: it refuses two equal locations, and has none shorter than
// "/". As it decodes an address before it compares, %2F is a slash to it, but not to trueup: it is replaced.
func (s *set) forNginx() {
	for i := range s.requests {
		s.requests[i].path = strings.ReplaceAll(s.requests[i].path, "%2F", "%20")
	}
	known := map[location]bool{}
	for _, l := range s.locations {
		l.path = strings.ReplaceAll(l.path, "%2F", "%20")
		if l.path == "*" {
			l.path = "/*"
		}
		if !known[l] {
			known[l] = true
			s.locations[len(known)-1] = l
		}
	}
	s.locations = s.locations[:len(known)]
}

// nginx starts a server that has the sets.
func nginx(t *testing.T, sets []set) (socket string) {
	needs(t, "nginx")
	dir := t.TempDir()
	var b strings.Builder
	fmt.Fprintf(&b, `daemon off; worker_processes 1; pid %[1]s/pid; error_log stderr crit;
events {}
http {
access_log off; merge_slashes off; root %[1]s/none; server_names_hash_max_size 65536; server_names_hash_bucket_size 128;
client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
server { listen unix:%[1]s/socket default_server; }
`, dir)
	for n, s := range sets {
		hosts := map[string]bool{}
		for _, l := range s.locations {
			if !hosts[l.host] {
				hosts[l.host] = true
				fmt.Fprintf(&b, "server { listen unix:%s/socket; server_name %s;\n", dir, under(cmp.Or(l.host, "*"), n))
				for i, other := range s.locations {
					if other.host == l.host {
						fmt.Fprintf(&b, "location %s { add_header X-Location %d/%d; return 204; }\n", nginxPath(other.path), n, i)
					}
				}
				b.WriteString("}\n")
			}
		}
	}
	b.WriteString("}\n")
	config := filepath.Join(dir, "conf")
	if err := os.WriteFile(config, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, dir, "nginx", "-c", config, "-p", dir, "-e", "stderr")
}

func nginxPath(pattern string) string {
	modifier := "="
	stem, prefix := strings.CutSuffix(pattern, "*")
	if prefix {
		modifier = "^~"
	}
	decoded, err := url.PathUnescape(stem)
	if err != nil {
		panic(err)
	}
	return modifier + ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(decoded) + `"`
}
