package api_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"unsafe"

	"trueup/internal/api"
	"trueup/internal/kind"
)

// answered is an object as it comes of an answer, in memory of its own.
func answered(o kind.LiveObject) kind.LiveObject {
	o.Spec = bytes.Clone(o.Spec)
	return o
}

// TestWhatIsAsItsManifestIsHeldOnce: only what differs takes memory.
func TestWhatIsAsItsManifestIsHeldOnce(t *testing.T) {
	shop, blog, wiki := object("CDN", "shop", "shop.example.com"), object("CDN", "blog", "blog.example.com"), object("CDN", "wiki", "wiki.example.com")
	changed := answered(wiki)
	changed.Spec[len(changed.Spec)-3]++
	p := &fixedPlatform{
		lists: map[string][]kind.LiveObject{"CDN": {answered(shop), bare(blog), changed}},
		gets:  map[kind.Key]kind.LiveObject{blog.Key(): answered(blog)},
	}
	s := fetch(t, p, manifests(shop, blog, wiki))
	for _, o := range []kind.LiveObject{shop, blog} {
		if got := s.Objects[o.Key()].Spec; unsafe.SliceData(got) != unsafe.SliceData(o.Spec) {
			t.Errorf("%s is held twice: %s", o.Key(), got)
		}
	}
	if got := s.Objects[wiki.Key()].Spec; !bytes.Equal(got, changed.Spec) || bytes.Equal(got, wiki.Spec) {
		t.Errorf("wiki is %s", got)
	}
}

// many are objects as a fixedPlatform would list them.
func many(n int) []kind.LiveObject {
	objects := make([]kind.LiveObject, n)
	for i := range objects {
		objects[i] = object("CDN", fmt.Sprintf("site-%05d", i), fmt.Sprintf("site-%05d.example.com", i))
	}
	return objects
}

func BenchmarkFetch(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		objects := many(n)
		set := manifests(objects...)
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p := &fixedPlatform{lists: map[string][]kind.LiveObject{"CDN": objects}}
				if _, err := api.FetchState(context.Background(), p, set, api.FetchOptions{}); err != nil || len(p.asked) != 1 {
					b.Fatal(p.asked, err)
				}
			}
		})
	}
}
