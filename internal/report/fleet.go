package report

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
	// Projects are the paths, sorted. The result of each is in FOLDER/result.json beside this file.
	Projects []string `json:"projects"`
}

// ResultName is the name of the file with the result of one project, in a folder that is named like the project.
const ResultName = "result.json"
