package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"trueup/internal/files"
	"trueup/internal/kind"
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
	whole := opts.list || opts.dir != ""
	switch {
	case whole && len(args) > 0:
		return errors.New("--list and --dir are for all schemas: remove KIND")
	case opts.list:
		return a.listSchemas()
	case opts.dir != "":
		return a.writeSchemas(opts.dir)
	case len(args) == 0:
		return errors.New("name a kind, such as cdn; schema --list lists them")
	}
	_, text, ok := kind.SchemaNamed(args[0])
	if !ok {
		return fmt.Errorf("there is no schema %q%s", args[0], cmp.Or(didYouMean(args[0], kind.SchemaNames()), ": schema --list lists them"))
	}
	return a.out.Source(text)
}

func (a *app) listSchemas() error {
	var rows [][]string
	for _, name := range kind.SchemaNames() {
		_, text, _ := kind.SchemaNamed(name)
		rows = append(rows, []string{name, titleOf(text).Description})
	}
	return a.out.Table("", rows)
}

// writeSchemas writes every schema into a folder, which it makes.
func (a *app) writeSchemas(dir string) error {
	root, err := files.FolderAt(a.dir(), dir).Make()
	if err != nil {
		return fmt.Errorf("%s: %w", dir, files.WithoutPath(err))
	}
	defer func() { _ = root.Close() }()
	for _, name := range kind.SchemaNames() {
		file, text, _ := kind.SchemaNamed(name)
		done, err := writeSchema(root, files.File{Name: file, Content: text})
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, file), files.WithoutPath(err))
		}
		if err := a.out.Printf("%s %s\n", done, filepath.Join(dir, file)); err != nil {
			return err
		}
	}
	return nil
}

// writeSchema writes a schema, also in the place of an earlier one. Any other file
// of that name is somebody's.
func writeSchema(root *os.Root, f files.File) (string, error) {
	done, err := files.WriteNew(root, f)
	if err != nil || done != files.Kept {
		return done, err
	}
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
