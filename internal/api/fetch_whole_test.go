package api_test

import (
	"context"
	"testing"

	"trueup/internal/api"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

func TestWholeKeepsTheSpecsOfAll(t *testing.T) {
	shop, blog := object("CDN", "shop", "shop.example.com"), object("CDN", "blog", "blog.example.com")
	disk := object("VolumeSnapshot", "db", "")
	p := &fixedPlatform{
		lists: map[string][]kind.LiveObject{"CDN": {shop, bare(blog)}, "VolumeSnapshot": {bare(disk)}},
		gets:  map[kind.Key]kind.LiveObject{blog.Key(): blog, disk.Key(): disk},
	}
	s, err := api.FetchState(context.Background(), p, &manifest.Set{}, api.FetchOptions{
		Also: []*kind.Kind{kindNamed("CDN"), kindNamed("VolumeSnapshot")}, Whole: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	wantRequests(t, p, "get CDN/blog", "get VolumeSnapshot/db", "list CDN", "list VolumeSnapshot")
	if len(s.Unmanaged) != 3 {
		t.Fatalf("there are %d objects", len(s.Unmanaged))
	}
	for _, o := range s.Unmanaged {
		if o.Spec == nil || o.Status != nil {
			t.Errorf("%s has spec %s and status %s", o.Key(), o.Spec, o.Status)
		}
	}
}
