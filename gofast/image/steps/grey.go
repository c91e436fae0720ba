package steps

var grayscale = operation{
	read: func(s Step, c *step) error {
		if s.Channels != 1 && s.Channels != 3 {
			return s.bad("%d channels", s.Channels)
		}
		c.channels = word(s.Channels)
		return nil
	},
}

var randomGrayscale = operation{read: Step.readChance, draw: (*walker).chance}
