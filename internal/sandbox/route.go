package sandbox

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// resource is one of the platform's collections.
type resource struct {
	plural, kind, apiVersion, group string
	// methods are the documented ones (docs/platform.md 4): of the collection and
	// of one object.
	collection, single []string
	// role may do everything with the resource.
	role string
	// fields is the tree of spec; nil where nothing but admit knows it.
	fields *field
	// admit validates an object that is about to be stored; old is nil at a
	// creation.
	admit func(*admission) ([]cause, error)
	// life is after which an object is gone by itself; 0 is never.
	life time.Duration
	// index keeps what later admissions look up.
	index func(o objects, ws, host string, obj object) error
}

func newResources(cdn *field, purgeLife time.Duration) []*resource {
	return []*resource{
		{
			plural: "cdns", kind: "CDN", apiVersion: "delivery/v2.1", group: "delivery",
			collection: []string{http.MethodGet, http.MethodPost},
			single:     []string{http.MethodGet, http.MethodPatch},
			role:       RoleCDNAdmin, fields: cdn, admit: admitCDN, index: indexCDN,
		},
		{
			plural: "purges", kind: "Purge", apiVersion: "delivery/v2.1", group: "delivery",
			collection: []string{http.MethodPost},
			role:       RolePurger, admit: admitPurge, life: purgeLife, index: indexPurge(purgeLife),
		},
		{
			plural: "volumesnapshots", kind: "VolumeSnapshot", group: "snapshot.storage.k8s.io",
			apiVersion: "snapshot.storage.k8s.io/v1",
			collection: []string{http.MethodGet, http.MethodPost},
			single:     []string{http.MethodGet, http.MethodDelete},
			role:       RoleComputeAdmin, admit: admitSnapshot,
			index: func(objects, string, string, object) error { return nil },
		},
	}
}

func (s *Server) resource(match func(*resource) bool) *resource {
	if i := slices.IndexFunc(s.resources, match); i >= 0 {
		return s.resources[i]
	}
	return nil
}

// call is one request to the platform, routed.
type call struct {
	method string
	path   string
	query  url.Values
	header http.Header
	body   []byte
	now    time.Time
	on     quirkSet

	res *resource
	// space is what the path names: a uuid or a namespace. ws is the
	// workspace, if there is one.
	space string
	ws    Workspace
	known bool
	name  string
	user  string
	// partial ends a list early; nil does not.
	partial *partial
}

// verb is the method's name in messages about permissions.
func (c *call) verb() string {
	switch c.method {
	case http.MethodPost:
		return "create"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	case http.MethodPut:
		return "update"
	}
	if c.name == "" {
		return "list"
	}
	return "get"
}

// route finds the resource of an escaped path (docs/platform.md 4), or returns
// false: then nothing is served there. The slash of the compute area's group
// may be escaped (docs/platform.md 10).
func (s *Server) route(c *call, escaped string) bool {
	var segs []string
	for seg := range strings.SplitSeq(strings.TrimPrefix(escaped, "/"), "/") {
		plain, err := url.PathUnescape(seg)
		if err != nil || plain == "" {
			return false
		}
		segs = append(segs, plain)
	}
	base := strings.Split(strings.TrimPrefix(DeliveryBase, "/"), "/")
	if rest, ok := cutSegments(segs, append(base, "global", "workspaces")); ok {
		return s.routeDelivery(c, rest)
	}
	base = append(strings.Split(strings.TrimPrefix(ComputeBase, "/"), "/"), "apis")
	if rest, ok := cutSegments(segs, append(base, "snapshot.storage.k8s.io", "v1", "namespaces")); ok {
		return s.routeCompute(c, rest)
	}
	if rest, ok := cutSegments(segs, append(base, "snapshot.storage.k8s.io/v1", "namespaces")); ok {
		return s.routeCompute(c, rest)
	}
	return false
}

func cutSegments(segs, prefix []string) ([]string, bool) {
	if len(segs) < len(prefix) || !slices.Equal(segs[:len(prefix)], prefix) {
		return nil, false
	}
	return segs[len(prefix):], true
}

func (s *Server) routeDelivery(c *call, segs []string) bool {
	if !s.target(c, segs, "delivery") {
		return false
	}
	c.ws, c.known = s.workspace(func(w Workspace) bool { return w.UUID == c.space })
	return true
}

func (s *Server) routeCompute(c *call, segs []string) bool {
	if !s.target(c, segs, "snapshot.storage.k8s.io") {
		return false
	}
	c.ws, c.known = s.workspace(func(w Workspace) bool { return w.Name == c.space })
	return true
}

// target reads {space}/{plural}[/{name}].
func (s *Server) target(c *call, segs []string, group string) bool {
	if len(segs) < 2 || len(segs) > 3 {
		return false
	}
	c.space = segs[0]
	c.res = s.resource(func(r *resource) bool { return r.plural == segs[1] && r.group == group })
	if len(segs) == 3 {
		c.name = segs[2]
	}
	return c.res != nil
}

func (s *Server) workspace(match func(Workspace) bool) (Workspace, bool) {
	if i := slices.IndexFunc(s.opts.Workspaces, match); i >= 0 {
		return s.opts.Workspaces[i], true
	}
	return Workspace{}, false
}

// authorize checks the token and its roles (docs/platform.md 5 and 7.1).
func (s *Server) authorize(c *call) error {
	value := c.header.Get("Authorization")
	if value == "" {
		c.user = "system:anonymous"
		return forbidden(c)
	}
	token, isBearer := strings.CutPrefix(value, "Bearer ")
	roles, found := s.opts.Tokens[token]
	if !isBearer || !found {
		return &failure{code: http.StatusUnauthorized, reason: "Unauthorized", message: "Unauthorized"}
	}
	c.user = "sandbox:" + strings.Join(roles, "+")
	reads := c.method == http.MethodGet && slices.Contains(roles, RoleReader)
	if !reads && !slices.Contains(roles, c.res.role) {
		return forbidden(c)
	}
	return nil
}

// allowed reports whether the platform documents the method for the path.
func (c *call) allowed() bool {
	if c.name == "" {
		return slices.Contains(c.res.collection, c.method)
	}
	return slices.Contains(c.res.single, c.method)
}
