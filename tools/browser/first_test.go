package browser

import (
	"testing"
)

// The first change of an object, from the top of the page.
const firstChange = `(() => {
  const e = document.querySelector('.object .lead, .object .diff tbody tr');
  return e ? e.getBoundingClientRect().bottom + scrollY : 1e9;
})()`

// TestFirstChange: a reviewer sees what changes first without scrolling, and on a
// phone within two screens.
func TestFirstChange(t *testing.T) {
	start(t)
	files := pages(t)
	for _, size := range []struct {
		look  look
		limit float64
	}{{look{width: 1440, height: 900}, 900}, {look{width: 1280, height: 720}, 720}, {look{width: 360, height: 780}, 2 * 780}} {
		for _, name := range []string{"plan", "drift"} {
			for _, noScript := range []bool{false, true} {
				size.look.noScript = noScript
				p := open(t, files[name], size.look)
				if got := eval[float64](p, firstChange); got >= size.limit {
					t.Errorf("%s at %d px, without script %v: the first change ends at %.0f px, want less than %.0f", name, size.look.width, noScript, got, size.limit)
				}
			}
		}
	}
}

// TestHead: the head has no number that is 0, causes are a filter only, and what
// the plan was made from is folded.
func TestHead(t *testing.T) {
	start(t)
	files := pages(t)
	for name, file := range files {
		p := open(t, file, desk)
		for _, zero := range eval[[]string](p, `[...document.querySelectorAll('header *, #filter .n')].filter(e => e.children.length === 0 && e.textContent.trim() === '0').map(e => e.parentElement.textContent)`) {
			t.Errorf("%s: the head counts nothing: %q", name, zero)
		}
		if name == "plan" || name == "drift" {
			if eval[bool](p, `document.querySelector('.facts').checkVisibility()`) {
				t.Errorf("%s: the facts are not folded", name)
			}
			eval[bool](p, `(document.querySelector('header summary').click(), true)`)
			if !eval[bool](p, `document.querySelector('.facts').checkVisibility() && document.querySelector('.facts').innerText.includes('Ledger')`) {
				t.Errorf("%s: a click does not show the facts", name)
			}
		}
	}
	for name, file := range files {
		p := open(t, file, desk)
		if twice := eval[[]string](p, `[...document.querySelectorAll('#filter label')].map(l => l.textContent.replace(/\d+$/, '').trim()).filter((l, i, all) => all.indexOf(l) < i)`); len(twice) > 0 {
			t.Errorf("%s: the filter offers %q twice", name, twice)
		}
	}
	p := open(t, files["plan"], desk)
	if got := eval[[]string](p, `[...document.querySelectorAll('input[name=why]')].map(i => i.closest('#filter') ? '' : i.outerHTML).filter(Boolean)`); len(got) > 0 {
		t.Errorf("a cause is outside the filter: %q", got)
	}
	if eval[bool](p, `!document.querySelector('input[name=why]')`) {
		t.Error("causes are no filter")
	}
}

// TestGravestFirst: what may stop being served stands above a purge.
func TestGravestFirst(t *testing.T) {
	start(t)
	p := open(t, pages(t)["plan"], desk)
	ids := eval[[]string](p, `[...document.querySelectorAll('.object')].map(o => o.id)`)
	if len(ids) == 0 || ids[0] != "CDN/shop" {
		t.Errorf("the objects are %q", ids)
	}
	late := eval[bool](p, `[...document.querySelectorAll('#advice, #notes')].every(e => document.querySelector('.object').compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)`)
	if !late {
		t.Error("advice or notes stand above the objects")
	}
}
