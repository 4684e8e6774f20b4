package kind

import (
	"regexp"
	"slices"
	"strings"
)

// table has all kinds, sorted by name. A new kind needs a row, a schema and rules (docs/platform.md 2 and 4).
var table = []*Kind{
	{
		Name:            "CDN",
		Short:           "cdn",
		APIVersion:      "delivery/v2.1",
		Area:            Delivery,
		Collection:      "/global/workspaces/{workspace_uuid}/cdns",
		Verbs:           []Verb{List, Get, Create, Patch},
		Policy:          Converge,
		HostField:       "hostname",
		NamespaceOnWire: true,
	},
	{
		Name:       "Purge",
		Short:      "purge",
		APIVersion: "delivery/v2.1",
		Alias:      regexp.MustCompile(`^delivery\.[a-z0-9]([-a-z0-9]*[a-z0-9])?\.cloud/v1beta1$`),
		AliasForm:  "delivery.{vendor}.cloud/v1beta1",
		Area:       Delivery,
		Collection: "/global/workspaces/{workspace_uuid}/purges",
		Verbs:      []Verb{Create},
		Policy:     RequestOnly,
		HostField:  "hostname",
		Role:       "cdn-purger",
	},
	{
		Name:            "VolumeSnapshot",
		Short:           "snapshot",
		APIVersion:      "snapshot.storage.k8s.io/v1",
		Area:            Compute,
		Collection:      "/apis/snapshot.storage.k8s.io/v1/namespaces/{namespace}/volumesnapshots",
		Verbs:           []Verb{List, Get, Create, Delete},
		Policy:          CreateOnly,
		DiskField:       []string{"source", "persistentVolumeClaimName"},
		ReadyField:      "readyToUse",
		NamespaceOnWire: true,
	},
}

// tableOfTests is the envelope of tests of requests: files for trueup, which no platform has objects of.
var tableOfTests = Kind{Name: "RequestTest", APIVersion: "trueup/v1"}

// RequestTestKind returns the kind of tests of requests. It is not one of All.
func RequestTestKind() *Kind { return &tableOfTests }

// AllKinds returns the kinds of objects, sorted by name.
func AllKinds() []*Kind { return table }

// RequestKind returns the kind of requests that are sent once and leave no object.
func RequestKind() *Kind { return table[slices.IndexFunc(table, (*Kind).IsRequestOnly)] }

var tableOfDocumentKinds = append(slices.Clip(table), &tableOfTests)

// AllDocumentKinds returns All and RequestTestKind.
func AllDocumentKinds() []*Kind { return tableOfDocumentKinds }

// FindKind finds a kind by its name, short name or plural, in any case.
func FindKind(name string) (*Kind, bool) {
	for _, k := range table {
		if k.Name == name {
			return k, true // the usual case, once per object
		}
	}
	for _, k := range table {
		names := []string{k.Name, k.ShortCollectionPath()[1:], k.Short, k.Plural()}
		if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			return k, true
		}
	}
	return nil, false
}

// FindByEnvelope finds the kind of an envelope, which may be RequestTestKind.
func FindByEnvelope(apiVersion, name string) (*Kind, bool) {
	for _, k := range tableOfDocumentKinds {
		if k.Name == name && (k.APIVersion == apiVersion || k.Alias != nil && k.Alias.MatchString(apiVersion)) {
			return k, true
		}
	}
	return nil, false
}
