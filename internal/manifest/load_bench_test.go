package manifest

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"testing/fstest"

	"go.yaml.in/yaml/v4"

	"trueup/internal/kind"
	"trueup/internal/rules"
)

// BenchmarkSchema is the check of a usual manifest, and a validator.
func BenchmarkSchema(b *testing.B) {
	var c converter
	var doc map[string]any
	f := NewFileState("", benchmarkManifest())
	f.EachDocument(func(n *yaml.Node) {
		c.reset(f)
		doc, _ = c.convertValue(n.Content[0], n.Content[0], nil).(map[string]any)
	})
	k, _ := kind.FindByEnvelope(doc["apiVersion"].(string), doc["kind"].(string))
	text, _ := kind.SchemaNamed(k.Name)
	schema, err := rules.CompileSchema(k.Name, text)
	if err != nil {
		b.Fatal(err)
	}
	w := &worker{loader: &loader{}, file: f}
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if w.checkSchema(doc, k); len(f.Findings) > 0 {
				b.Fatal("the benchmark's manifest is not accepted")
			}
		}
	})
	b.Run("validator", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := schema.Validate(doc); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTree is a folder of usual manifests, and what its objects take while
// they wait.
func BenchmarkTree(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			files := fstest.MapFS{}
			for i := range n {
				text := bytes.ReplaceAll(benchmarkManifest(), []byte("shop"), fmt.Appendf(nil, "shop-%d", i))
				files[fmt.Sprintf("shop-%d.yaml", i)] = &fstest.MapFile{Data: text, Mode: 0o644}
			}
			var set *Set
			load := func() {
				set, _, _ = Load(context.Background(), []PathSource{{FS: files, Path: "."}}, LoadSettings{Workspace: "acme"})
			}
			b.ReportAllocs()
			for b.Loop() {
				load()
			}
			set = nil
			empty := heap()
			load()
			b.ReportMetric(float64(heap()-empty)/float64(n), "B/object")
			runtime.KeepAlive(set)
			runtime.KeepAlive(files)
		})
	}
}

// heap is what is alive.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
