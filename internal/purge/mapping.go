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

// Index is the file that is also served at the address of its directory.
const Index = "index.html"

// ServedAddresses returns the addresses of a file by the mappings with the longest From that serve it. withFolder
// adds the address of the directory of an Index.
func (m Mappings) ServedAddresses(name string, withFolder bool) (served []Address, err error) {
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
		a := Address{Host: each.To.Host, Path: each.To.Path + encodeText(rest, inName)}
		served = append(served, a)
		if folder, is := strings.CutSuffix(a.Path, "/"+Index); is && withFolder {
			served = append(served, Address{Host: a.Host, Path: folder + "/"})
		}
	}
	return served, nil
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
