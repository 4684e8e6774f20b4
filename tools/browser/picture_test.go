package browser

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

var pictures = flag.Bool("pictures", false, "write the pictures of docs/ anew")

// maxPicture is how many bytes a picture of the documentation may have.
const maxPicture = 200_000

// TestPictures: the pictures of docs/ show what the program writes today. With
// -pictures they are made anew.
func TestPictures(t *testing.T) {
	start(t)
	w := newWorld(t)
	plan := []string{"plan", "manifests", "--sandbox", "--base-ref", "main"}
	file := w.report("html", plan...)
	w.write("report.html", steady(w.read("report.html")))
	markdown := steady(w.read(filepath.Base(w.report("markdown", plan...))))
	w.write("comment.html", commentPage(t, markdown))
	fleet, err := os.ReadFile(filepath.Join(root(t), "internal", "report", "testdata", "golden", "merged-thousand.md"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("fleet.html", commentPage(t, string(fleet)))
	words := eval[string](open(t, file, desk), `document.body.innerText`)
	sameText(t, filepath.Join(drawn, "plan.txt"), "== HTML\n"+words+"\n== Markdown\n"+markdown)
	const shop = `scrollTo(0, document.getElementById('CDN/shop').offsetTop - `
	for _, s := range []shot{
		{filepath.Join("docs", "plan-light.png"), file, "", "", look{width: 1120, height: 1240, scale: 1.25}},
		{filepath.Join("docs", "plan-dark.png"), file, shop + `64)`, "", look{width: 1120, height: 800, scale: 1.25, dark: true}},
		{filepath.Join("docs", "plan-phone.png"), file, shop + `12)`, "", look{width: 360, height: 780, scale: 1.5}},
		{filepath.Join("docs", "comment.png"), w.path("comment.html"), "", "", look{width: 960, height: 1120, scale: 1.25}},
		{filepath.Join("docs", "fleet-comment.png"), w.path("fleet.html"), "", "", look{width: 960, height: 900, scale: 1.25}},
	} {
		s.take(t, 256, maxPicture)
	}
}

// shot is a picture of the repository, by its path.
type shot struct {
	name, file string
	// before runs in the page first.
	before string
	// part selects the element that is shown; empty is the window.
	part string
	look look
}

// take writes the picture, in so many colours and at most most bytes.
func (s shot) take(t testing.TB, colours, most int) {
	t.Helper()
	if !*pictures {
		return
	}
	p := open(t, s.file, s.look)
	if s.before != "" {
		eval[any](p, "("+s.before+", null)")
	}
	params := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng}
	if s.part != "" {
		box := eval[[]float64](p, fmt.Sprintf(`(() => { const b = document.querySelector(%q).getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()`, s.part))
		params.Clip = &page.Viewport{X: box[0], Y: box[1], Width: min(box[2], float64(s.look.width)), Height: min(box[3], 1.5*float64(s.look.height)), Scale: 1}
		beyond := true
		params.CaptureBeyondViewport = &beyond
	}
	small := smaller(t, call(p, page.CaptureScreenshot, params).Data, colours)
	if len(small) > most {
		t.Errorf("%s has %d bytes", s.name, len(small))
	}
	t.Logf("%s: %d bytes", s.name, len(small))
	if err := os.WriteFile(filepath.Join(root(t), s.name), small, 0o644); err != nil {
		t.Fatal(err)
	}
}

// steady replaces what differs from run to run.
func steady(text string) string {
	for pattern, with := range map[string]string{
		`\d{4}-\d\d-\d\dT[\d:.]+Z`:                  "2026-11-21T09:00Z",
		`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`: workspace,
		`[0-9a-f]{64}`:                              "9b1c7d0e2f5b0d0a4a539a0c9b6f2f1f3a77e40c52d81b66f09a3c5e7d214f88",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
	}
	return text
}

// smaller is a picture with at most so many colours: those that it has most of and that are
// not too like each other. The rest are edges of letters.
func smaller(t testing.TB, data []byte, most int) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[color.RGBA]int{}
	pixels := image.NewRGBA(full.Bounds())
	draw.Draw(pixels, pixels.Bounds(), full, full.Bounds().Min, draw.Src)
	for i := 0; i < len(pixels.Pix); i += 4 {
		counts[color.RGBA{pixels.Pix[i], pixels.Pix[i+1], pixels.Pix[i+2], pixels.Pix[i+3]}]++
	}
	var colours []color.RGBA
	for c := range counts {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.RGBA) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return bytes.Compare([]byte{a.R, a.G, a.B}, []byte{b.R, b.G, b.B})
	})
	palette := make(color.Palette, 0, most)
	for _, c := range colours {
		distance := 120 * 256 / most
		if counts[c] > len(pixels.Pix)/4/300 {
			distance = 20 // a ground, which may be like another
		}
		if len(palette) < cap(palette) && !slices.ContainsFunc(palette, func(p color.Color) bool { return alike(c, p.(color.RGBA), distance) }) {
			palette = append(palette, c)
		}
	}
	nearest := map[color.RGBA]uint8{}
	for c := range counts {
		nearest[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(full.Bounds(), palette)
	for i := range out.Pix {
		out.Pix[i] = nearest[color.RGBA{pixels.Pix[4*i], pixels.Pix[4*i+1], pixels.Pix[4*i+2], pixels.Pix[4*i+3]}]
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// alike reports whether two colours are closer than that.
func alike(a, b color.RGBA, distance int) bool {
	square := func(x, y uint8) int { return (int(x) - int(y)) * (int(x) - int(y)) }
	return square(a.R, b.R)+square(a.G, b.G)+square(a.B, b.B) < distance
}

// commentPage shows Markdown as code hosts do, in the frame of a comment.
func commentPage(t testing.TB, markdown string) string {
	t.Helper()
	var b bytes.Buffer
	convert := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := convert.Convert([]byte(markdown), &b); err != nil {
		t.Fatal(err)
	}
	return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Comment</title><style>` + commentStyle + `</style>
<div class="comment"><div class="who"><span class="face"></span><b>trueup</b> commented</div><div class="text">` +
		colouredDiffs(b.String()) + `</div></div></html>`
}

// colouredDiffs colours the lines of diffs by their first character.
func colouredDiffs(page string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(page) {
		if before, first, ok := strings.Cut(line, `<code class="language-diff">`); ok {
			b.WriteString(before + `<code class="language-diff">`)
			line, inside = first, true
		}
		if strings.HasPrefix(line, "</code>") {
			inside = false
		}
		class := map[byte]string{'+': "add", '-': "cut", '!': "edit", '@': "place"}[line[0]]
		if !inside || class == "" {
			b.WriteString(line)
			continue
		}
		b.WriteString(`<span class="` + class + `">` + strings.TrimSuffix(line, "\n") + "</span>\n")
	}
	return b.String()
}

const commentStyle = `
body { margin: 0; padding: 20px; background: #f4f5f7; color: #1f2328; font: 14px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.comment { border: 1px solid #d0d5dc; border-radius: 8px; background: #fff; overflow: hidden; }
.who { display: flex; gap: 6px; align-items: center; padding: 9px 14px; border-bottom: 1px solid #d0d5dc; background: #f6f8fa; color: #59636e; font-size: 13px; }
.who b { color: #1f2328; font-weight: 600; }
.face { width: 20px; height: 20px; border-radius: 50%; background: linear-gradient(135deg, #2f6f9f, #1b3a57); margin-right: 4px; }
.text { padding: 4px 16px 14px; }
h2 { font-size: 19px; line-height: 1.35; margin: 12px 0 10px; padding-bottom: 7px; border-bottom: 1px solid #d8dee4; font-weight: 600; }
h3 { font-size: 16px; margin: 16px 0 8px; }
p { margin: 10px 0; }
table { border-collapse: collapse; font-size: 13px; margin: 10px 0; display: block; overflow: auto; }
th, td { border: 1px solid #d0d7de; padding: 5px 10px; }
th { font-weight: 600; }
blockquote { margin: 10px 0; padding: 0 12px; border-left: 4px solid #d0d7de; color: #59636e; }
code, pre { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 12px; }
:not(pre) > code { padding: 2px 5px; border-radius: 5px; background: #eff1f3; }
pre { margin: 8px 0; padding: 11px 13px; border-radius: 6px; background: #f6f8fa; overflow: auto; line-height: 1.45; }
details { margin: 8px 0; }
summary { cursor: pointer; }
.add, .cut, .edit, .place { display: inline-block; width: 100%; }
.add { color: #116329; background: #dafbe1; }
.cut { color: #82071e; background: #ffebe9; }
.edit { color: #7a4b00; background: #fff4d9; }
.place { color: #6639ba; }
`
