package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/project"
)

// The routes of --to.
const (
	routeAPI  = "api"
	routeLine = "command-line"
)

type convertOptions struct {
	to, vendor, namespace, dir string
	write, urls                bool
	cdns                       []string
	host, query, name          string
}

func newConvert(a *app) *cobra.Command {
	var opts convertOptions
	cmd := &cobra.Command{
		Use: "convert [PATH...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkGiven(cmd, "to", "vendor", "namespace", "dir", "hostname", "query", "name"); err != nil {
				return err
			}
			if err := opts.check(a.global.output); err != nil {
				return err
			}
			if opts.urls {
				return runConvertURLs(cmd.Context(), a, opts, args)
			}
			return runConvert(a, opts, args)
		},
	}
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
	for flag, words := range map[string][]string{"to": {routeAPI, routeLine}, "query": {"drop", "prefix", "keep"}} {
		_ = cmd.RegisterFlagCompletionFunc(flag, completeWords(words...)) // the flag is there
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if opts.urls {
			return completeFiles(cmd, args, toComplete)
		}
		return a.completePaths(cmd, args, toComplete)
	}
	return cmd
}

// check refuses flags that do not belong together.
func (o convertOptions) check(output string) error {
	aboutList := len(o.cdns) > 0 || o.host != "" || o.query != "" || o.name != ""
	switch {
	case o.urls && (o.to != "" || o.vendor != "" || o.namespace != "" || o.write):
		return errors.New("--urls makes new manifests: remove --to, --vendor, --namespace and --write")
	case o.urls:
		return nil
	case output != "text":
		return errors.New("convert writes manifests: remove -o")
	case aboutList:
		return errors.New("--cdn, --hostname, --query and --name need a list of addresses: add --urls")
	}
	return o.checkRoute()
}

// checkRoute refuses flags that name no route, or no one place for the result.
func (o convertOptions) checkRoute() error {
	switch {
	case o.to == "":
		return errors.New("add --to api or --to command-line, or --urls for a list of addresses")
	case o.to != routeAPI && o.to != routeLine:
		return oneOf("--to", o.to, []string{routeAPI, routeLine})
	case o.to == routeAPI && o.vendor != "":
		return errors.New("--vendor belongs to the command-line route: remove it, or write --to command-line")
	case o.to == routeLine && o.vendor == "":
		return errors.New("the envelope of the command-line route has the vendor's name: add --vendor NAME")
	case o.write && o.dir != "":
		return errors.New("--write changes the files and --dir writes others: use one of them")
	case o.namespace != "" && !project.IsSegment(o.namespace):
		return fmt.Errorf("--namespace is %q: use letters, digits, dots, dashes and underscores", o.namespace)
	}
	return nil
}

// route is what the manifests are converted to. A vendor is one if any kind has an
// envelope by that name.
func (o convertOptions) route(p project.Project) (manifest.Route, error) {
	r := manifest.Route{Vendor: o.vendor, Workspace: cmp.Or(o.namespace, p.Workspace.Name)}
	if o.namespace != "" && p.Exists() && o.namespace != p.Workspace.Name {
		return r, fmt.Errorf("--namespace is %s, and the workspace of trueup.yaml is %s: convert manifests in the project of their workspace",
			o.namespace, p.Workspace.Name)
	}
	if o.vendor == "" {
		return r, nil
	}
	for _, k := range kind.All() {
		if _, ok := k.AliasVersion(o.vendor); ok {
			return r, nil
		}
	}
	return r, fmt.Errorf("--vendor is %q: write lower-case letters, digits and hyphens, as in the middle of the envelope's name", o.vendor)
}

// convertedFile is a file and what becomes of it.
type convertedFile struct {
	manifest.Text
	out  []byte
	docs []manifest.Rerouted
}

func runConvert(a *app, opts convertOptions, args []string) error {
	p, err := a.findProject()
	if err != nil {
		return err
	}
	route, err := opts.route(p)
	if err != nil {
		return err
	}
	if (opts.write || opts.dir != "") && slices.Contains(args, "-") {
		return errors.New("standard input has no file to write to: remove --write and --dir")
	}
	texts, findings, err := a.texts(p, args)
	if err != nil {
		return err
	}
	var converted []convertedFile
	for _, t := range texts {
		out, docs, wrong := route.Convert(t)
		findings = append(findings, wrong...)
		converted = append(converted, convertedFile{t, out, docs})
	}
	if err := a.refused(findings); err != nil {
		return err
	}
	if err := a.writeConverted(opts, converted); err != nil {
		return err
	}
	for _, f := range converted {
		a.tellConverted(f)
	}
	return nil
}

// refused logs findings, because standard output is for the manifests, and refuses errors.
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

func (a *app) writeConverted(opts convertOptions, converted []convertedFile) error {
	switch {
	case opts.dir != "":
		return a.writeToFolder(opts.dir, converted)
	case !opts.write:
		return a.out.Source(joined(converted))
	}
	for _, f := range converted {
		if bytes.Equal(f.out, f.Data) {
			continue
		}
		if err := replaceText(f.Text, f.out); err != nil {
			return err
		}
		a.printf("converted %s\n", f.Path)
	}
	return nil
}

// joined is the text of the files as documents of one stream.
func joined(converted []convertedFile) []byte {
	var out bytes.Buffer
	for _, f := range converted {
		text := f.out
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

// writeToFolder writes new files under the names that they have in their folders. It fails, and names
// all of them, if files exist with other content.
func (a *app) writeToFolder(dir string, converted []convertedFile) error {
	folder := files.FolderAt(a.dir(), dir)
	var list []files.File
	taken := map[string]bool{}
	for _, f := range converted {
		if taken[f.Name] {
			return fmt.Errorf("two files would be written to %s: convert the PATHs one by one", folder.Shown(f.Name))
		}
		taken[f.Name] = true
		list = append(list, files.File{Name: f.Name, Content: f.out})
	}
	var kept []string
	err := folder.WriteAll(list, func(_ *os.Root, f files.File) (string, error) {
		kept = append(kept, folder.Shown(f.Name))
		return files.Kept, nil
	}, func(state, shown string) { a.printf("%s %s\n", state, shown) })
	if err == nil && len(kept) > 0 {
		err = fmt.Errorf("unchanged, because it exists with other content: %s; name another folder", strings.Join(kept, ", "))
	}
	return err
}

// tellConverted logs what was done to each document of a file.
func (a *app) tellConverted(f convertedFile) {
	if a.global.quiet {
		return
	}
	for _, d := range f.docs {
		namespace := map[manifest.NamespaceChange]string{
			manifest.NamespaceAdded: ", metadata.namespace added", manifest.NamespaceRemoved: ", metadata.namespace removed",
			manifest.NamespaceKept: ", metadata.namespace kept",
		}[d.Namespace]
		text := d.From + " became " + d.To + namespace
		_, _, known := kind.ForEnvelope(d.From, d.Key.Kind)
		switch {
		case !known:
			text = fmt.Sprintf("unchanged: trueup does not manage the kind %q of %q", d.Key.Kind, d.From)
		case d.To == "":
			text = "unchanged: it has only one envelope"
		case d.From == d.To:
			text = "unchanged: it says " + d.To + " already" + namespace
		}
		a.log(slog.LevelInfo, fmt.Sprintf("%s:%d: %s: %s", f.Path, d.Line, d.Key, text))
	}
}
