package purge

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Mapping maps a file, or all files of a directory, to an address.
type Mapping struct {
	// From is a file's name, or a directory's with a slash at its end; "" is the whole repository.
	From string
	To   Address // the address of the file or directory, which also has a slash at its end
}

// ParseMapping reads "FROM -> TO", such as "public/ -> /" or "www/ -> https://www.example.com/docs/".
func ParseMapping(text string) (Mapping, error) {
	from, to, ok := strings.Cut(text, "->")
	if !ok {
		return Mapping{}, fmt.Errorf("%q is not of the form 'FROM -> TO', such as 'public/ -> /'", text)
	}
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	isFolder := strings.HasSuffix(from, "/") || from == "."
	clean := path.Clean(from)
	if from == "" || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") {
		return Mapping{}, fmt.Errorf("%q: before -> write a folder or file of the repository, from its top, such as public/", text)
	}
	address, err := ParseAddress(to)
	switch {
	case err != nil:
		return Mapping{}, fmt.Errorf("%q: %q %w", text, to, err)
	case strings.ContainsAny(to, "*?#"):
		return Mapping{}, fmt.Errorf("%q: after -> write a path without *, ? and #", text)
	case isFolder != strings.HasSuffix(address.Path, "/"):
		return Mapping{}, fmt.Errorf("%q: a folder maps to a folder, and a file to a file: end both with a slash, or neither", text)
	}
	m := Mapping{From: clean, To: address}
	if isFolder {
		m.From = strings.TrimPrefix(clean+"/", "./")
	}
	return m, nil
}

// Mappings map the files of a repository to addresses.
type Mappings []Mapping

// How a site serves pages: an index.html also at the path of its directory, with and without a slash at its end; with
// CleanPages, another page also without its .html; or each file only at its own path.
const (
	IndexPages = "index"
	CleanPages = "clean"
	FilePages  = "files"
)

// ServedAddresses returns the addresses of a file by the mappings with the longest From that serve it, if the site serves
// pages that way.
func (m Mappings) ServedAddresses(name, pages string) (served []Address, err error) {
	longest := 0
	for _, each := range m {
		if !each.ServesFile(name) || len(each.From) < longest {
			continue
		}
		if len(each.From) > longest {
			longest, served = len(each.From), nil
		}
		rest := name[len(each.From):]
		if strings.Contains(rest, "*") {
			return nil, errors.New("has a * in its name, which a path of a purge can't have") // it would mean everything
		}
		for _, p := range pathsOfPage(each.To.Path+encodeText(rest, inName), pages) {
			served = append(served, Address{Host: each.To.Host, Path: p})
		}
	}
	return served, nil
}

func pathsOfPage(file, pages string) []string {
	folder, isIndex := strings.CutSuffix(file, "/index.html")
	page, isPage := strings.CutSuffix(file, ".html")
	switch {
	case pages == FilePages:
	case isIndex && folder == "":
		return []string{file, "/"}
	case isIndex:
		return []string{file, folder + "/", folder}
	case isPage && pages == CleanPages:
		return []string{file, page}
	}
	return []string{file}
}

// ServesFile reports whether the mapping serves this file.
func (m Mapping) ServesFile(name string) bool {
	if m.From == "" || strings.HasSuffix(m.From, "/") {
		return strings.HasPrefix(name, m.From)
	}
	return name == m.From
}

// CoversFile reports whether a mapping serves this file, or files below it.
func (m Mappings) CoversFile(name string) bool {
	return slices.ContainsFunc(m, func(each Mapping) bool { return each.ServesFile(name) || strings.HasPrefix(each.From, name+"/") })
}
