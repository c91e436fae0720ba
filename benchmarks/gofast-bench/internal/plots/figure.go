// Package plots draws a report, as SVG for pages and PNG for everything else.
package plots

import (
	"fmt"
	"image/color"
	"io"
	"path/filepath"
	"strings"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/newfile"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	fonts "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	width  = 22 * vg.Centimeter
	height = 12 * vg.Centimeter
	margin = vg.Length(12)
	dpi    = 144
)

// Okabe and Ito's colours, which people with any kind of colour vision tell apart.
var palette = []color.Color{
	color.RGBA{0x00, 0x72, 0xb2, 0xff}, color.RGBA{0xe6, 0x9f, 0x00, 0xff}, color.RGBA{0x00, 0x9e, 0x73, 0xff},
	color.RGBA{0xcc, 0x79, 0xa7, 0xff}, color.RGBA{0x56, 0xb4, 0xe9, 0xff}, color.RGBA{0xd5, 0x5e, 0x00, 0xff},
	color.RGBA{0xf0, 0xe4, 0x42, 0xff}, color.RGBA{0x44, 0x44, 0x44, 0xff},
}

var (
	ink  = color.RGBA{0x22, 0x22, 0x22, 0xff}
	grey = color.RGBA{0x99, 0x99, 0x99, 0xff}
	dim  = color.RGBA{0x66, 0x66, 0x66, 0xff}
	pale = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
)

func colour(i int) color.Color { return palette[i%len(palette)] }

// figure is a plot with what stands around it.
type figure struct {
	name, title, subtitle string // name: of its files
	plot                  *plot.Plot
	legend                []entry // to the right of the data, from the top down
}

type entry struct {
	text  string
	thumb plot.Thumbnailer
}

func newFigure(name, title, subtitle string) *figure {
	p := plot.New()
	p.BackgroundColor = color.White
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = font.From(sans, 11)
		axis.Label.TextStyle.Color = ink
		axis.Label.Padding = 4
		axis.Tick.Label.Font = font.From(sans, 10)
		axis.Tick.Label.Color = ink
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = grey, grey
		axis.Tick.Marker = plainTicks{}
	}
	p.Legend.TextStyle.Font = font.From(sans, 10)
	p.Legend.TextStyle.Color = ink
	return &figure{name, title, subtitle, p, nil}
}

var (
	sans = font.Font{Typeface: "Liberation", Variant: "Sans"}
	bold = font.Font{Typeface: "Liberation", Variant: "Sans", Weight: fonts.WeightBold}
)

func (f *figure) add(text string, thumb plot.Thumbnailer) {
	f.legend = append(f.legend, entry{text, thumb})
}

// grid draws lines behind the data, along the axes that are numbers.
func (f *figure) grid(vertical, horizontal bool) {
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, nil
	if vertical {
		grid.Vertical.Color = pale
	}
	if horizontal {
		grid.Horizontal.Color = pale
	}
	f.plot.Add(grid)
}

// draw puts the title above the plot, and the legend beside it.
func (f *figure) draw(c vg.CanvasSizer) {
	area := draw.Crop(draw.New(c), margin, -margin, margin, -margin)
	style := f.plot.Legend.TextStyle
	style.XAlign, style.YAlign = draw.XLeft, draw.YTop
	style.Font = font.From(bold, 14)
	area.FillText(style, vg.Point{X: area.Min.X, Y: area.Max.Y}, f.title)
	style.Font, style.Color = font.From(sans, 10), dim
	area.FillText(style, vg.Point{X: area.Min.X, Y: area.Max.Y - 20}, f.subtitle)
	area = draw.Crop(area, 0, 0, 0, -3*margin-8)
	if len(f.legend) > 0 {
		legend, wide := plot.NewLegend(), vg.Length(0)
		legend.TextStyle = f.plot.Legend.TextStyle
		legend.Top, legend.Left, legend.Padding, legend.ThumbnailWidth = true, true, 5, 18
		for _, e := range f.legend {
			legend.Add(e.text, e.thumb)
			wide = max(wide, legend.TextStyle.Width(e.text))
		}
		wide += legend.ThumbnailWidth + 2*margin
		legend.Draw(draw.Crop(area, area.Size().X-wide+margin, 0, 0, 0))
		area = draw.Crop(area, 0, -wide, 0, 0)
	}
	f.plot.Draw(area)
}

// save writes name.svg and name.png.
func (f *figure) save(folder string) error {
	svg := vgsvg.New(width, height)
	f.draw(svg)
	if err := write(filepath.Join(folder, f.name+".svg"), svg); err != nil {
		return err
	}
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))}
	f.draw(png)
	return write(filepath.Join(folder, f.name+".png"), png)
}

func write(path string, c vg.CanvasWriterTo) error {
	return newfile.Write(path, true, func(w io.Writer) error {
		_, err := c.WriteTo(w)
		return err
	})
}

// Save draws all figures of a report into a folder, and names them without their endings.
func Save(r *report.Report, folder string) (names []string, err error) {
	figures := []func(*report.Report) (*figure, error){throughput, latency, stages, memory}
	for _, make := range figures {
		f, err := make(r)
		if err != nil {
			return nil, err
		}
		if f == nil {
			continue // the report has no such figures
		}
		if err := f.save(folder); err != nil {
			return nil, err
		}
		names = append(names, f.name)
	}
	return names, nil
}

// about is what every figure says of where it comes from.
func about(r *report.Report) string {
	text := fmt.Sprintf("%s %s, batches of %d, %d epochs", report.Grouped(float64(r.Work.Samples)), r.Work.Unit(), r.Work.Batch, r.Work.Epochs)
	if r.Work.Transform != "" {
		text += ", " + r.Work.Transform
	}
	cpu := strings.TrimSpace(strings.NewReplacer("(R)", "", "(TM)", "", " Processor", "").Replace(r.Machine.CPU))
	return shorten(fmt.Sprintf("%s; %s, %d CPUs", text, cpu, r.Machine.Usable), 120)
}

func shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-3]) + "..."
}
