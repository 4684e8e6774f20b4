package cli

import (
	"github.com/spf13/pflag"

	"trueup/internal/fleet"
)

// registerSelection adds the flags that say which projects of a folder to take.
func registerSelection(f *pflag.FlagSet) *fleet.Selection {
	s := &fleet.Selection{}
	f.StringVar(&s.ChangedSince, "changed-since", "", "take only projects with a file that differs from commit `REF`")
	f.Var(&s.Shard, "shard", "take part `I/N` of the projects, with I from 1 to N")
	f.StringArrayVar(&s.Select, "select", nil, "take only projects whose path, or a folder above it, matches `GLOB`; repeatable")
	f.StringArrayVar(&s.Exclude, "exclude", nil, "leave out projects whose path, or a folder above it, matches `GLOB`; repeatable")
	return s
}
