package kind

import (
	_ "embed" // the table of risks
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/canon"
)

//go:embed risks.table
var risksText string

// RiskRow is a line of the table of risks: what a change of a field can do, and why. See risks.table.
type RiskRow struct {
	Kind, Field, Change string
	Risk                Risk
	Reason              string
}

// RiskRows returns the table of risks.
func RiskRows() (rows []RiskRow) {
	of := ""
	for line := range strings.Lines(risksText) {
		line = strings.TrimSpace(line)
		cells := strings.Split(line, " | ")
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case len(cells) == 1:
			of = line
		default:
			row := RiskRow{Kind: of, Field: cells[0], Change: cells[1], Reason: cells[3]}
			if err := row.Risk.UnmarshalText([]byte(strings.TrimPrefix(cells[2], "none"))); err != nil {
				panic(fmt.Sprintf("risks.table: %q: %v", line, err))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// addRisks gives each field of the kind its rows. It panics on a row of no field.
func (k *Kind) addRisks() {
	for _, row := range RiskRows() {
		if row.Kind != k.Name {
			continue
		}
		name, below := strings.CutSuffix(row.Field, ".*")
		f, known := k.root.Fields["spec"].FieldAt(SplitAtDots(strings.TrimPrefix(name, ".")))
		switch {
		case !known:
			panic("risks.table: no field " + row.Field)
		case below:
			f.belowRows = append(f.belowRows, row)
		default:
			f.rows, f.Risk = append(f.rows, row), row.Risk
		}
	}
}

// RiskOf returns what a change of this field can do in any object; nil is absent.
func (f *Field) RiskOf(before, after any) Risk { return f.RiskRowOf(before, after, nil).Risk }

// RiskRowOf is RiskOf with the reason, in the object around the field; nil if it is not known. Of a change in an object or a
// list it is the row of the gravest one.
func (f *Field) RiskRowOf(before, after, around any) RiskRow {
	if isChange := before != nil || after != nil; isChange && (!f.documentsAll(before) || !f.documentsAll(after)) {
		return undocumentedRisk()
	}
	return f.documentedRiskRow(before, after, around)
}

func undocumentedRisk() RiskRow {
	return RiskRow{Risk: RiskServes, Reason: "the platform does not document it"}
}

// documentedRiskRow is RiskRowOf for values that the platform documents.
func (f *Field) documentedRiskRow(before, after, around any) RiskRow {
	i := slices.IndexFunc(f.rows, func(row RiskRow) bool { return f.fitsChange(row.Change, before, after, around) })
	switch {
	case before == nil && after == nil:
		return RiskRow{}
	case i < 0:
		return undocumentedRisk()
	case f.rows[i].Change != "any":
		return graverRow(f.rows[i], f.valueRisk(after, around))
	}
	if below := f.riskBelow(before, after); below.Risk != NoRisk && below.Risk != f.rows[i].Risk {
		return below
	}
	return f.rows[i] // its own reason says more
}

// graverRow returns the row of the higher risk, or a.
func graverRow(a, b RiskRow) RiskRow {
	if b.Risk > a.Risk {
		return b
	}
	return a
}

// riskBelow returns the gravest row of the changes in a documented object or list.
func (f *Field) riskBelow(before, after any) (row RiskRow) {
	was, wasObject := before.(map[string]any)
	is, isObject := after.(map[string]any)
	if wasObject || isObject {
		for _, name := range slices.Sorted(maps.Keys(was)) {
			if _, kept := is[name]; !kept {
				row = graverRow(row, f.Member(name).documentedRiskRow(was[name], nil, was))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(is)) {
			if !reflect.DeepEqual(was[name], is[name]) {
				row = graverRow(row, f.Member(name).documentedRiskRow(was[name], is[name], is))
			}
		}
	}
	elements, _ := before.([]any)
	for _, e := range elements {
		row = graverRow(row, f.Element().documentedRiskRow(e, nil, nil))
	}
	elements, _ = after.([]any)
	for _, e := range elements {
		row = graverRow(row, f.Element().documentedRiskRow(nil, e, nil))
	}
	return row
}

// valueRisk returns the gravest of the rows about values alone, of this field and of those below it, for a value, no
// matter what it was before.
func (f *Field) valueRisk(value, around any) (row RiskRow) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			row = graverRow(row, f.Member(name).valueRisk(v[name], v))
		}
	case []any:
		for _, e := range v {
			row = graverRow(row, f.Element().valueRisk(e, nil))
		}
	default:
		i := slices.IndexFunc(f.rows, func(r RiskRow) bool {
			return (strings.HasPrefix(r.Change, "to ") || strings.HasPrefix(r.Change, "over ")) && f.fitsChange(r.Change, nil, value, around)
		})
		if i >= 0 {
			row = f.rows[i]
		}
	}
	return row
}

// fitsChange reports whether a change is one that a row is about.
func (f *Field) fitsChange(change string, before, after, around any) bool {
	change, condition, conditional := strings.Cut(change, " of ")
	if path, want, _ := strings.Cut(condition, "="); conditional && fmt.Sprint(canon.At(around, strings.Split(path, ".")...)) != want {
		return false
	}
	word, value, _ := strings.Cut(change, " ")
	switch word {
	case "any":
		return true
	case "added":
		return before == nil && after != nil
	case "removed":
		return before != nil && after == nil
	case "to":
		return after != nil && fmt.Sprint(after) == value
	case "from":
		return before != nil && fmt.Sprint(before) == value
	}
	return f.fitsNumber(word, value, before, after, around)
}

// fitsNumber is fits for the words about numbers.
func (f *Field) fitsNumber(word, value string, before, after, around any) bool {
	was, wasNumber := f.numericValue(before, around)
	is, isNumber := f.numericValue(after, around)
	limit, _ := strconv.ParseFloat(value, 64) // a test reads the table
	return isNumber && map[string]bool{
		"up": wasNumber && was < is, "down": wasNumber && was > is, "over": is > limit && (!wasNumber || is > was),
	}[word]
}

// numericValue returns the number that a value is, in seconds if it is a time.
func (f *Field) numericValue(v, around any) (float64, bool) {
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if unit := canon.At(around, f.Unit); f.Unit != "" && unit != nil {
		if one, ok := DurationOf("1", fmt.Sprint(unit)); ok {
			n *= one.Seconds()
		}
	}
	return n, err == nil
}

// documentsAll reports whether the platform documents all fields, types and values of v.
func (f *Field) documentsAll(v any) bool {
	switch v := v.(type) {
	case nil:
		return f.rows != nil
	case map[string]any:
		for name, value := range v {
			if !f.Member(name).documentsAll(value) {
				return false
			}
		}
		return f.Type == ObjectType && f.rows != nil
	case []any:
		return f.Type == ListType && f.rows != nil && !slices.ContainsFunc(v, func(e any) bool { return !f.Element().documentsAll(e) })
	}
	return f.rows != nil && f.documentsScalar(fmt.Sprint(v))
}

func (f *Field) documentsScalar(text string) bool {
	switch {
	case len(f.Seen) > 0 && !slices.Contains(f.Seen, text), len(f.Enum) > 0 && !slices.Contains(f.Enum, text):
		return false
	case len(f.Range) > 0 || f.Type == Number:
		number, err := strconv.ParseFloat(text, 64)
		return err == nil && (len(f.Range) < 1 || number >= float64(f.Range[0])) && (len(f.Range) < 2 || number <= float64(f.Range[1]))
	case f.Type == Bool:
		return text == "true" || text == "false"
	}
	return f.Type == Text || f.Type == AnyType
}

// GravestRisk returns the highest risk of the field and of all documented fields below it.
func (f *Field) GravestRisk() Risk {
	risk := f.Risk
	for _, child := range f.Fields {
		risk = max(risk, child.GravestRisk())
	}
	if f.Item != nil {
		risk = max(risk, f.Item.GravestRisk())
	}
	return risk
}

// ObjectWith returns the object in v, a value of f, that has the field or the element at a path. It returns nil if it
// is not there, or if a name in the path can be that of several elements.
func (f *Field) ObjectWith(path string, v any) any {
	steps, ok := SplitPath(path)
	if !ok || len(steps) == 0 {
		return nil
	}
	for _, step := range steps[:len(steps)-1] {
		name, _ := StepName(step)
		switch below := v.(type) {
		case map[string]any:
			f, v = f.Member(name), below[name]
		case []any:
			v = f.elementNamed(below, name)
			f = f.Element()
		}
	}
	return v
}

// elementNamed returns the element of a list that has the name in paths, or nil if not exactly one has.
func (f *Field) elementNamed(list []any, name string) any {
	var found []any
	for i, e := range list {
		whole, last := f.List.NameOf(e)
		if name == whole || name == last && last != "" || whole == "" && name == strconv.Itoa(i) {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// NameOf returns the key of an element of a list, and its last part, or "" if it has none.
func (r *ListRule) NameOf(element any) (whole, last string) {
	object := canon.Object(element)
	if r == nil || object == nil {
		return "", ""
	}
	var parts []string
	for _, field := range r.Key {
		last = ""
		if object[field] != nil {
			last = fmt.Sprint(object[field])
		}
		if last != "" {
			parts = append(parts, last)
		}
	}
	return strings.Join(parts, r.Join), last
}
