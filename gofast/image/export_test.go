package image

// For the tests of package image_test, which may import what imports this package.
var (
	RandomPlan = randomPlan
	RandomStep = randomStep
	Noise      = noise
	PPM        = ppm
	Usual      = options
)
