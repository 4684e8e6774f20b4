package report

import (
	"fmt"
	"time"
)

// Origin says where a result of one of many projects comes from.
type Origin struct {
	// Path is the folder of the project, from where the search began, with slashes.
	Path string `json:"path"`
	// Workspace is the UUID; empty if the settings of the project can't be read.
	Workspace string `json:"workspace,omitempty"`
	// Commit is the one that is checked out; empty outside git.
	Commit string `json:"commit,omitempty"`
	// Tool names the program and its version.
	Tool string `json:"tool"`
	// Shard counts from 1; both are 1 if one process runs all projects.
	Shard  int `json:"shard"`
	Shards int `json:"shards"`
	// Running is set from before the first request of an apply until its end.
	Running bool `json:"running,omitempty"`
}

// ShardFormat is the version of ShardFile (schemas/shard.schema.json).
const ShardFormat = "trueup.shard/v1"

// ShardFile says which projects one process of trueup each runs. It is written before the first of them
// starts, so that a missing result is noticed.
type ShardFile struct {
	Format string `json:"format"`
	Shard  int    `json:"shard"`
	Shards int    `json:"shards"`
	// Command is the subcommand that runs in each project, such as plan.
	Command string `json:"command"`
	Commit  string `json:"commit,omitempty"`
	Tool    string `json:"tool"`
	// Started orders the tries of a shard.
	Started time.Time `json:"started"`
	// Try counts the tries that are in the same folder, from 2. The first one has none.
	Try int `json:"try,omitempty"`
	// Ended is set when all results are there.
	Ended bool `json:"ended,omitempty"`
	// Projects are the paths, sorted. The result of each is beside this file, in a folder of its own.
	Projects []string `json:"projects"`
}

// SameRun reports whether two processes do a part of the same.
func (s ShardFile) SameRun(o ShardFile) bool {
	return s.Shards == o.Shards && s.Command == o.Command && s.Commit == o.Commit && s.Tool == o.Tool
}

// ShardNames matches the name of each shard file.
const ShardNames = "shard-*-of-*.json"

// Name is the name of the shard file.
func (s ShardFile) Name() string {
	return fmt.Sprintf("shard-%d-of-%d%s.json", s.Shard, s.Shards, s.ofTry("-try"))
}

// ResultName is the name of the file with the result of one project, in a folder that is named like the project.
func (s ShardFile) ResultName() string { return "result" + s.ofTry("") + ".json" }

func (s ShardFile) ofTry(what string) string {
	if s.Try == 0 {
		return ""
	}
	return fmt.Sprintf("%s-%d", what, s.Try)
}
