package steps

// flip is each of the two: they draw alike.
var flip = operation{read: Step.readChance, draw: (*walker).chance}
