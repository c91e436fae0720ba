package steps

var randomSolarize = operation{
	read: func(s Step, c *step) error {
		if s.Threshold < 0 || s.Threshold > 256 {
			return s.bad("threshold %d is not within 0..256", s.Threshold)
		}
		c.threshold = word(s.Threshold)
		return s.readChance(c)
	},
	draw: (*walker).whether,
}

var randomPosterize = operation{
	read: func(s Step, c *step) error {
		if s.Bits < 1 || s.Bits > 8 {
			return s.bad("bits %d is not within 1..8", s.Bits)
		}
		c.bits = word(s.Bits)
		return s.readChance(c)
	},
	draw: (*walker).whether,
}

var randomSharpness = operation{
	read: func(s Step, c *step) error {
		if !(s.Factor >= -maxFactor && s.Factor <= maxFactor) {
			return s.bad("factor %v is not within %d", s.Factor, maxFactor)
		}
		c.factor = double(s.Factor)
		return s.readChance(c)
	},
	draw: (*walker).whether,
}

// whether is a step that happens or does not, and has nothing else to be told.
var whether = operation{read: Step.readChance, draw: (*walker).whether}
