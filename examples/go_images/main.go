// Command go_images reads a folder of pictures, a sub-folder a class, in random
// crops and shuffled batches, from Go alone. JPEGs need a libjpeg-turbo: the
// system's libjpeg.so.62, or the file that $GOFAST_LIBJPEG names.
//
//	go run ./examples/go_images examples/data/photos
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"time"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/numbers"
)

const side = 96

// plan is torchvision's RandomResizedCrop(96), RandomHorizontalFlip(), ToTensor().
var plan = image.Plan{
	Steps: []image.Step{
		{"op": "random_resized_crop", "size": []int{side, side}, "filter": "bilinear",
			"scale": []float64{0.08, 1}, "ratio": []float64{3. / 4, 4. / 3},
			"log_ratio": []float32{float32(math.Log(3. / 4)), float32(math.Log(4. / 3))}},
		{"op": "hflip", "p": 0.5},
		{"op": "to_float", "how": "divide"},
	},
	Output: image.Output{DType: numbers.Float32, Height: side, Width: side, Channels: 3},
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go_images FOLDER")
	}
	ctx := context.Background()
	start := time.Now()
	folder, err := gofast.OpenFolder(ctx, os.Args[1], plan, gofast.FolderOptions{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer folder.Close()
	fmt.Printf("%d pictures of %d classes, found in %v\n", folder.Len(), len(folder.Classes), time.Since(start).Round(time.Microsecond))

	engine := gofast.NewEngine(0)
	defer engine.Close()
	for epoch := range uint64(3) {
		folder.SetEpoch(epoch)
		start, batches, sum := time.Now(), 0, 0.0
		for b, err := range engine.Batches(ctx, folder, gofast.Shuffled(folder.Len(), 0, epoch), 12) {
			if err != nil {
				log.Fatal(err)
			}
			batches++
			features, err := b.Float32()
			if err != nil {
				log.Fatal(err)
			}
			for _, v := range features {
				sum += float64(v)
			}
		}
		mean := sum / float64(folder.Len()*3*side*side)
		fmt.Printf("epoch %d: %d batches, mean value %.4f, %v\n", epoch, batches, mean, time.Since(start).Round(time.Microsecond))
	}
}
