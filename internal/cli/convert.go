package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/compose"
	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/manifest"
	"trueup/internal/project"
	"trueup/internal/purge"
	"trueup/internal/report"
)

type convertOptions struct {
	to, vendor, namespace, dir string
	write, urls                bool
	cdns                       []string
	host, query, name          string
}

func newConvert(a *app) *cobra.Command {
	var opts convertOptions
	cmd := a.command("convert [PATH...]", func(ctx context.Context, paths []string) (doc report.Document, err error) {
		if opts.urls {
			return a.convertURLs(ctx, opts, paths)
		}
		return a.convert(opts, paths)
	})
	cmd.PreRunE = func(*cobra.Command, []string) error { return opts.check() }
	f := cmd.Flags()
	f.StringVar(&opts.to, "to", "", "the `ROUTE` of the new envelope: api or command-line")
	f.StringVar(&opts.vendor, "vendor", "", "the vendor's `NAME`, for the command-line route")
	f.StringVar(&opts.namespace, "namespace", "", "the workspace's `NAME` (default the one in trueup.yaml)")
	f.BoolVar(&opts.write, "write", false, "change the files instead of writing to standard output")
	f.StringVar(&opts.dir, "dir", "", "write new files in `DIR` instead of standard output")
	f.BoolVar(&opts.urls, "urls", false, "the PATHs are lists of addresses to purge")
	f.StringArrayVar(&opts.cdns, "cdn", nil, "with --urls, the `HOSTNAME` of a CDN that no manifest has; repeatable")
	f.StringVar(&opts.host, "hostname", "", "with --urls, the `HOST` of entries that are only a path")
	f.StringVar(&opts.query, "query", "", "with --urls, what to do with a query, as `POLICY`: drop, prefix (purge everything that starts with its path) or keep")
	f.StringVar(&opts.name, "name", "", "with --urls, start the names with `BASE` (default the date)")
	oneOfFlag(f, "to", "api", "command-line")
	oneOfFlag(f, "query", purge.QueryDropped, purge.QueryPrefix, purge.QueryKept)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if opts.urls {
			return a.byPlaceholder("FILE")(cmd, args, toComplete)
		}
		return a.completePaths(cmd, args, toComplete)
	}
	return cmd
}

// check rejects flags that exclude each other.
func (o convertOptions) check() error {
	aboutEnvelope := o.to != "" || o.vendor != "" || o.namespace != "" || o.write
	aboutList := len(o.cdns) > 0 || o.host != "" || o.query != "" || o.name != ""
	byLine := o.to == "command-line"
	if o.urls {
		return refuse(aboutEnvelope, "--urls makes new manifests: remove --to, --vendor, --namespace and --write")
	}
	return cmp.Or(
		refuse(aboutList, "--cdn, --hostname, --query and --name need a list of addresses: add --urls"),
		refuse(o.to == "", "add --to api or --to command-line, or --urls for a list of addresses"),
		refuse(!byLine && o.vendor != "", "--vendor belongs to the command-line route: remove it, or write --to command-line"),
		refuse(byLine && o.vendor == "", "the envelope of the command-line route has the vendor's name: add --vendor NAME"),
		refuse(o.write && o.dir != "", "--write changes the files and --dir writes others: use one of them"),
		refuse(o.namespace != "" && !project.IsSegment(o.namespace),
			"--namespace is %q: use letters, digits, dots, dashes and underscores", o.namespace),
	)
}

func (a *app) convert(opts convertOptions, paths []string) (doc report.Document, err error) {
	p, err := a.findProject()
	if err != nil {
		return doc, err
	}
	route, err := manifest.NewRoute(opts.vendor, opts.namespace, p.Workspace.Name)
	intoFiles := opts.write || opts.dir != ""
	if err = cmp.Or(err, refuse(intoFiles && slices.Contains(paths, "-"), "standard input has no file to write to: remove --write and --dir")); err != nil {
		return doc, err
	}
	texts, findings, err := a.texts(p, paths)
	if err != nil {
		return doc, err
	}
	var converted []manifest.Tidied
	var notes []string
	for _, t := range texts {
		to, docs, wrong := route.Convert(t)
		findings = append(findings, wrong...)
		converted = append(converted, manifest.Tidied{Text: t, To: to})
		for _, d := range docs {
			notes = append(notes, fmt.Sprintf("%s:%d: %s", t.Path, d.Line, d))
		}
	}
	if err := a.refused(findings); err != nil {
		return doc, err
	}
	if doc, err = a.writeConverted(opts, converted); err == nil && !a.global.quiet {
		for _, note := range notes {
			a.log(slog.LevelInfo, note)
		}
	}
	return doc, err
}

// refused logs the findings, because standard output is for the manifests. It returns an error if one of
// them is an error.
func (a *app) refused(findings diag.List) error {
	for _, f := range findings {
		text := fmt.Sprintf("%s:%d:%d: %s: %s", f.Path, f.Line, f.Column, f.Message, f.Fix)
		if f.Rule != "" {
			text += " [" + f.Rule + "]"
		}
		a.log(levelOf(f), text)
	}
	if findings.HasErrors() {
		return exit.With(exit.Invalid, errors.New("nothing was converted: see the messages above"))
	}
	return nil
}

func (a *app) writeConverted(opts convertOptions, converted []manifest.Tidied) (doc report.Document, err error) {
	switch {
	case opts.dir != "":
		return a.writeToFolder(opts.dir, converted)
	case !opts.write:
		list := make([]map[string]any, len(converted))
		for i, f := range converted {
			list[i] = map[string]any{"path": f.Path, "changed": f.Changes(), "text": string(f.To)}
		}
		doc = sourceText(joined(converted))
		doc.Data = map[string]any{"format": "trueup.convert/v1", "files": list}
		return doc, nil
	}
	for _, f := range converted {
		if !f.Changes() {
			continue
		}
		if err := f.Replace(f.To); err != nil {
			return doc, err
		}
		say(&doc, "converted %s", f.Path)
	}
	return doc, nil
}

// joined returns the files as one YAML stream.
func joined(converted []manifest.Tidied) []byte {
	var out bytes.Buffer
	for _, f := range converted {
		text := f.To
		if out.Len() > 0 {
			text = bytes.TrimPrefix(text, []byte("\uFEFF"))
			if !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
				out.WriteByte('\n')
			}
			if !bytes.HasPrefix(text, []byte("---")) {
				out.WriteString("---\n")
			}
		}
		out.Write(text)
	}
	return out.Bytes()
}

// writeToFolder writes files that do not exist yet, under their own names. The error lists the files
// that exist with other content.
func (a *app) writeToFolder(dir string, converted []manifest.Tidied) (doc report.Document, err error) {
	folder := files.FolderAt(a.dir(), dir)
	var list []files.File
	taken := map[string]bool{}
	for _, f := range converted {
		if taken[f.Name] {
			return doc, fmt.Errorf("two files would be written to %s: convert the PATHs one by one", folder.Shown(f.Name))
		}
		taken[f.Name] = true
		list = append(list, files.File{Name: f.Name, Content: f.To})
	}
	var kept []string
	doc.Messages, err = folder.WriteAll(list, func(_ *os.Root, f files.File) (string, error) {
		kept = append(kept, folder.Shown(f.Name))
		return files.Kept, nil
	})
	if err == nil && len(kept) > 0 {
		err = fmt.Errorf("unchanged, because it exists with other content: %s; name another folder", strings.Join(kept, ", "))
	}
	return doc, err
}

// convertURLs makes manifests from lists of addresses.
func (a *app) convertURLs(ctx context.Context, opts convertOptions, paths []string) (doc report.Document, err error) {
	into := compose.Options{Name: opts.name, Dir: cmp.Or(opts.dir, compose.ToStdout)}
	if err := a.checkCompose(into); err != nil {
		return doc, err
	}
	if len(paths) == 0 {
		return doc, errors.New("no list: name its file, or - for standard input")
	}
	l, err := a.load(ctx, nil, false)
	if err != nil {
		return doc, err
	}
	texts, findings, err := a.texts(l.Project, paths)
	if err = errors.Join(err, a.refused(findings)); err != nil {
		return doc, err
	}
	env := a.composeEnv(ctx, l)
	src, err := compose.FromLists(env, opts.cdns, purge.Legacy{Host: opts.host, Query: opts.query}, texts)
	if err != nil {
		return doc, err
	}
	if doc, err = a.compose(ctx, env, into, src); err != nil {
		return doc, err
	}
	return doc, src.CheckPlaces(env)
}
