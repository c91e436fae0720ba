// Package view is a C header (view.h): what the engine's threads see of a dataset.
package view
