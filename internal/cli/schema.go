package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

type schemaOptions struct {
	list bool
	dir  string
}

func newSchema(a *app) *cobra.Command {
	var opts schemaOptions
	cmd := &cobra.Command{
		Use:  "schema KIND",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkGiven(cmd, "dir"); err != nil {
				return err
			}
			return runSchema(a, opts, args)
		},
		ValidArgsFunction: completeSchemas,
	}
	cmd.Flags().BoolVar(&opts.list, "list", false, "list the schemas")
	cmd.Flags().StringVar(&opts.dir, "dir", "", "write all schemas into the folder `DIR`")
	cmd.MarkFlagsMutuallyExclusive("list", "dir")
	return cmd
}

func runSchema(a *app, opts schemaOptions, args []string) error {
	switch {
	case (opts.list || opts.dir != "") && len(args) > 0:
		return errors.New("--list and --dir are for all schemas: remove KIND")
	case opts.list:
		var rows [][]string
		for _, name := range kind.SchemaNames() {
			_, text, _ := kind.SchemaNamed(name)
			rows = append(rows, []string{name, titleOf(text).Description})
		}
		return a.out.Table("", rows)
	case opts.dir != "":
		var list []files.File
		for _, name := range kind.SchemaNames() {
			file, text, _ := kind.SchemaNamed(name)
			list = append(list, files.File{Name: file, Content: text})
		}
		return files.FolderAt(a.dir(), opts.dir).WriteAll(list, replaceSchema, func(state, shown string) { a.printf("%s %s\n", state, shown) })
	case len(args) == 0:
		return errors.New("name a kind, such as cdn; schema --list lists them")
	}
	_, text, ok := kind.SchemaNamed(args[0])
	if !ok {
		return fmt.Errorf("there is no schema %q%s", args[0], cmp.Or(manifest.DidYouMean(args[0], kind.SchemaNames()), ": schema --list lists them"))
	}
	return a.out.Source(text)
}

// replaceSchema replaces an earlier schema, and refuses any other file with its name.
func replaceSchema(root *os.Root, f files.File) (string, error) {
	old, err := root.ReadFile(f.Name)
	if err != nil {
		return "", err
	}
	if is := titleOf(old); is.Schema == "" || is.Title != titleOf(f.Content).Title {
		return "", errors.New("a file of that name exists and is not such a schema: remove it, or name another folder")
	}
	return files.Written, files.Replace(root, f)
}

// schemaTitle is what a schema says of itself.
type schemaTitle struct {
	Schema      string `json:"$schema"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

func titleOf(schema []byte) schemaTitle {
	var t schemaTitle
	_ = json.Unmarshal(schema, &t) // what is no JSON has no title
	return t
}

func completeSchemas(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, name := range kind.SchemaNames() {
		_, text, _ := kind.SchemaNamed(name)
		if len(args) == 0 {
			out = offer(out, name, titleOf(text).Title)
		}
	}
	return out, noFiles
}
