// Package schemas embeds the JSON Schemas of manifests and of our own formats.
package schemas

import "embed"

// FS holds every *.schema.json of this folder.
//
//go:embed *.schema.json
var FS embed.FS
