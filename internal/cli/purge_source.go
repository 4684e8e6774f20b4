package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/git"
	"trueup/internal/purge"
)

// The bounds of what names paths, in bytes. A sitemap has at most 50 MB.
const (
	maxList    = 64 << 20
	maxSitemap = 64 << 20
)

// purgeSource collects what is to be purged, and where that comes from.
type purgeSource struct {
	app  *app
	opts purgeNewOptions
	// hosts are those that a request may name; open says that git has none, and
	// any is taken at its word.
	hosts purge.Hosts
	known []string
	open  bool
	// usual are where paths go that are named without a host, of which toUsual says
	// that there are some.
	usual   []purge.Wanted
	toUsual bool

	wanted []purge.Wanted
	// head says where it comes from, for the manifest.
	head []string
	// unplaced is what can't be purged as it is named, hostless what names no host
	// where several could be meant.
	unplaced []string
	hostless int
	// commits is what --from-git compares, and served what of HEAD is served.
	commits git.Range
	served  []purge.Wanted
	// beside are hosts that are purged because a subdomain of theirs is.
	beside map[string]string
}

func (s *purgeSource) gather(ctx context.Context, args []string) error {
	if len(args) == 0 && s.opts.fromGit == "" && len(s.opts.sitemaps) == 0 {
		return errors.New("nothing to purge: name paths or addresses, - for a list on standard input, --from-git or --sitemap")
	}
	if s.opts.fromGit == "" && (len(s.opts.maps) > 0 || s.opts.noFolders) {
		return errors.New("--map and --no-index need --from-git: add it, or remove them")
	}
	if err := s.named(args); err != nil {
		return err
	}
	if s.opts.fromGit != "" {
		if err := s.fromGit(ctx); err != nil {
			return fmt.Errorf("--from-git: %w", err)
		}
	}
	for _, name := range s.opts.sitemaps {
		if err := s.sitemap(name); err != nil {
			return fmt.Errorf("--sitemap %s: %w", name, err)
		}
	}
	return s.report()
}

// named takes the arguments, and the list of standard input.
func (s *purgeSource) named(args []string) error {
	list := false
	for _, arg := range args {
		if arg != "-" {
			s.add("", purge.Line{Text: arg})
			continue
		}
		if list {
			return errors.New("- is given twice, and there is only one standard input: name it once")
		}
		list = true
		lines, err := purge.ReadLines(files.AtMost(s.app.stdin("paths"), maxList))
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		for _, line := range lines {
			s.add("standard input", line)
		}
	}
	if len(args) > 0 {
		s.head = append(s.head, "from paths given by hand")
	}
	return nil
}

// add takes an entry of a list; of which one is empty for the command line.
func (s *purgeSource) add(list string, line purge.Line) {
	a, err := purge.ParseAddress(line.Text)
	if err == nil {
		err = s.want(a)
	}
	if err != nil {
		shown := fmt.Sprintf("%.200q", line.Text)
		if strings.Contains(line.Text, "@") {
			shown = "an entry" // it may hold a password
		}
		s.refuse(list, line.Line, fmt.Errorf("%s %w", shown, err))
	}
}

func (s *purgeSource) refuse(list string, line int, err error) {
	text := err.Error()
	if list != "" {
		text = fmt.Sprintf("%s:%d: %s", list, line, text)
	}
	s.unplaced = append(s.unplaced, text)
}

// want finds where an address is purged.
func (s *purgeSource) want(a purge.Address) error {
	if a.Host == "" {
		s.toUsual = true
		if len(s.usual) == 0 {
			s.hostless++
		}
		for _, w := range s.usual {
			w.Path = a.Path
			s.wanted = append(s.wanted, w)
		}
		return nil
	}
	w, err := s.place(a.Host)
	if err == nil {
		w.Path = a.Path
		s.wanted = append(s.wanted, w)
	}
	return err
}

// place finds the CDN that a host belongs to.
func (s *purgeSource) place(host string) (purge.Wanted, error) {
	hostname, subdomain, ok := s.hosts.Place(host)
	switch {
	case s.open:
		return purge.Wanted{Hostname: host}, nil
	case !ok:
		return purge.Wanted{}, fmt.Errorf("is served by no CDN in git%s", didYouMean(host, s.known))
	case subdomain != "":
		s.beside[host] = hostname
	}
	return purge.Wanted{Hostname: hostname, Subdomain: subdomain}, nil
}

// choose finds where paths go that are named without a host.
func (s *purgeSource) choose() error {
	names := s.opts.hostnames
	if len(names) == 0 && len(s.known) == 1 {
		names = s.known
	}
	for _, name := range names {
		a, err := purge.ParseAddress("https://" + name)
		if err != nil || a.Path != "/" || strings.ContainsAny(name, "/?#") {
			return fmt.Errorf("--hostname %q is not a hostname: write it as the CDN has it, such as shop.example.com", name)
		}
		w, err := s.place(a.Host)
		if err != nil {
			return fmt.Errorf("--hostname %s %w", name, err)
		}
		s.usual = append(s.usual, w)
		for _, sub := range s.opts.subdomains {
			s.usual = append(s.usual, s.subdomain(strings.ToLower(sub), w))
		}
	}
	return nil
}

// subdomain is where a part before a host is purged: on a CDN of its own, if git has
// one.
func (s *purgeSource) subdomain(part string, of purge.Wanted) purge.Wanted {
	if of.Subdomain != "" {
		part += "." + of.Subdomain
	}
	if hostname, sub, ok := s.hosts.Place(part + "." + of.Hostname); ok {
		return purge.Wanted{Hostname: hostname, Subdomain: sub}
	}
	return purge.Wanted{Hostname: of.Hostname, Subdomain: part}
}

// plainText is a text that stays within the line of a comment.
func plainText(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || diag.Unseen(r) }) {
		return fmt.Sprintf("%+q", text)
	}
	return text
}

// sitemap takes the pages of a sitemap. Nothing that it names is fetched.
func (s *purgeSource) sitemap(name string) error {
	f, err := os.OpenFile(s.app.full(name), os.O_RDONLY|files.NoWait, 0)
	if err != nil {
		return files.WithoutPath(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return files.WithoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	content, err := io.ReadAll(files.AtMost(f, maxSitemap))
	if err != nil {
		return files.WithoutPath(err)
	}
	if bytes.HasPrefix(content, []byte("\x1f\x8b")) {
		return errors.New("it is compressed: decompress it first (gunzip)")
	}
	list, err := purge.ReadSitemap(bytes.NewReader(content))
	if err != nil {
		return err
	}
	for _, page := range list.Pages {
		if strings.Contains(page.Text, "*") {
			s.refuse(name, page.Line, fmt.Errorf("%.200q has a *, which a purge reads as a prefix: name it as a prefix path if that is meant", page.Text))
			continue
		}
		s.add(name, page)
	}
	for _, other := range list.Index {
		s.refuse(name, other.Line, fmt.Errorf("it is an index of sitemaps, and trueup does not fetch %.200q: fetch it, and name the file with --sitemap", other.Text))
	}
	s.head = append(s.head, "from the sitemap "+plainText(name))
	return nil
}

// maxShown is how many lines say what is wrong.
const maxShown = 20

// report says what has no place. Unless that is to be left out, it is an error:
// what is not purged stays old, and nobody notices.
func (s *purgeSource) report() error {
	if s.hostless > 0 {
		return fmt.Errorf("trueup does not know the hostname: add --hostname HOST%s, or name addresses (https://HOST/PATH)", suchAs(s.known))
	}
	if len(s.opts.subdomains) > 0 && len(s.wanted) > 0 && !s.toUsual {
		return errors.New("--subdomain applies to paths without a host, and every path has one: also name addresses on the subdomain (https://PART.HOST/PATH)")
	}
	for _, text := range s.unplaced[:min(maxShown, len(s.unplaced))] {
		s.app.log(slog.LevelWarn, text)
	}
	n := counted(len(s.unplaced), "entry", "entries")
	if len(s.unplaced) > 0 && !s.opts.skipUnplaced {
		return fmt.Errorf("nothing was written: %s of those above can't be purged as named; fix or remove them, or skip them with --skip-unplaced", n)
	}
	if len(s.unplaced) > maxShown {
		s.app.log(slog.LevelWarn, n+" are left out; see the first ones above")
	}
	for _, host := range slices.Sorted(maps.Keys(s.beside)) {
		s.app.log(slog.LevelInfo, fmt.Sprintf("%s is purged together with %s, because a purge names subdomains with their hostname", s.beside[host], host))
	}
	return nil
}

// suchAs names the hostnames that there are.
func suchAs(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", which in git are " + some(names, 5)
}
