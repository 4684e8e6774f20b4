package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/report"
)

func newSchema(a *app) *cobra.Command {
	var list bool
	var dir string
	cmd := a.command("schema KIND", func(_ context.Context, args []string) (report.Document, error) {
		switch {
		case (list || dir != "") && len(args) > 0:
			return report.Document{}, errors.New("--list and --dir are for all schemas: remove KIND")
		case list:
			all := allSchemas()
			rows := make([][]string, len(all))
			for i, s := range all {
				rows[i] = []string{s.Name, s.Description}
			}
			return table("trueup.schemas/v1", "schemas", all, rows), nil
		case dir != "":
			return a.writeSchemas(dir)
		case len(args) == 0:
			return report.Document{}, errors.New("name a kind, such as cdn; schema --list lists them")
		}
		_, text, ok := kind.SchemaNamed(args[0])
		if !ok {
			return report.Document{}, fmt.Errorf("there is no schema %q%s", args[0],
				cmp.Or(manifest.DidYouMean(args[0], kind.SchemaNames()), ": schema --list lists them"))
		}
		doc := sourceText(text)
		doc.Data = json.RawMessage(text)
		return doc, nil
	})
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.Flags().BoolVar(&list, "list", false, "list the schemas")
	cmd.Flags().StringVar(&dir, "dir", "", "write all schemas into the folder `DIR`")
	cmd.MarkFlagsMutuallyExclusive("list", "dir")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFiles
		}
		return offers(allSchemas(), func(s schema) (string, string) { return s.Name, s.Title }), noFiles
	}
	return cmd
}

// schema is what help shows of a schema.
type schema struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// Version is that of JSON Schema, which only schemas have.
	Version string `json:"$schema"`
	file    files.File
}

func allSchemas() []schema {
	var all []schema
	for _, name := range kind.SchemaNames() {
		file, text, _ := kind.SchemaNamed(name)
		all = append(all, schemaOf(name, files.File{Name: file, Content: text}))
	}
	return all
}

// schemaOf reads the head of a schema; anything else has no title.
func schemaOf(name string, f files.File) schema {
	s := schema{file: f}
	_ = json.Unmarshal(f.Content, &s) // what is no JSON has no title
	s.Name = name
	return s
}

func (a *app) writeSchemas(dir string) (doc report.Document, err error) {
	var list []files.File
	for _, s := range allSchemas() {
		list = append(list, s.file)
	}
	replace := func(root *os.Root, f files.File) (string, error) {
		old, err := root.ReadFile(f.Name)
		if err != nil {
			return "", err
		}
		is := schemaOf("", files.File{Content: old})
		if is.Version == "" || is.Title != schemaOf("", f).Title {
			return "", errors.New("a file of that name exists and is not such a schema: remove it, or name another folder")
		}
		return files.Written, files.Replace(root, f)
	}
	doc.Messages, err = files.FolderAt(a.dir(), dir).WriteAll(list, replace)
	return doc, err
}
