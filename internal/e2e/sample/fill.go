package sample

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"trueup/internal/kind"
	"trueup/internal/yamledit"
)

// Fill writes the manifests of a world into folders, as the arguments say. Folders are relative to base.
func Fill(base string, args []string) error {
	var w World
	var dir, live string
	f := flag.NewFlagSet("fill", flag.ContinueOnError)
	f.StringVar(&dir, "dir", "", "write the manifests to this folder")
	f.StringVar(&live, "live", "", "write the live objects to this folder, for trueup sandbox seed")
	f.IntVar(&w.CDNs, "cdns", 0, "make so many CDNs")
	f.IntVar(&w.Purges, "purges", 0, "make so many purges of their hostnames")
	f.IntVar(&w.Snapshots, "snapshots", 0, "make so many snapshots")
	f.IntVar(&w.Changed, "changed", 0, "change this percentage of the live CDNs")
	f.Uint64Var(&w.Seed, "seed", 1, "each number makes another project")
	if err := f.Parse(args); err != nil {
		return err
	}
	if dir != "" {
		if err := w.Write(filepath.Join(base, dir), func(o Object) map[string]any { return o.Spec }); err != nil {
			return err
		}
	}
	if live != "" {
		return w.Write(filepath.Join(base, live), func(o Object) map[string]any { return o.Live })
	}
	return nil
}

// Write writes a manifest in dir for each object that has a spec.
func (w World) Write(dir string, specOf func(Object) map[string]any) error {
	for o := range w.Objects() {
		spec := specOf(o)
		if spec == nil {
			continue
		}
		k, isKind := kind.FindByEnvelope(o.APIVersion, o.Kind)
		if !isKind {
			return fmt.Errorf("%s is not a kind", o.Kind)
		}
		raw, err := json.Marshal(spec)
		if err != nil {
			return err
		}
		draft := yamledit.Draft{Kind: k, Name: o.Name, Spec: raw}
		if k.NamespaceOnWire {
			draft.Namespace = "acme"
		}
		text, err := yamledit.WriteManifest(draft)
		if err != nil {
			return err
		}
		at := filepath.Join(dir, k.Plural())
		if err := errors.Join(os.MkdirAll(at, 0o755), os.WriteFile(filepath.Join(at, o.Name+".yaml"), text, 0o644)); err != nil {
			return err
		}
	}
	return nil
}
