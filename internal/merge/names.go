package merge

import (
	"strconv"
	"strings"
)

// Names returns what may stand for each element of a list in the paths of
// changes, whichever list it was compared with: its short name, its whole key
// and its place. Where the elements have no keys, the three are its place.
func Names(r *Rules, list []any) [][3]string {
	namer := nameElements(r, list, nil)
	names := make([][3]string, len(list))
	for i, e := range list {
		place := strconv.Itoa(i)
		names[i] = [3]string{namer.of(e, i), place, place}
		if namer.keyed {
			names[i][1] = strings.Join(namer.key(e), r.Join)
		}
	}
	return names
}
