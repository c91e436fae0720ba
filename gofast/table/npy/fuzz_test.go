package npy

import "testing"

func fuzzFiles(f *testing.F, zip bool) {
	for _, content := range smallFiles(f) {
		if IsZip(content) == zip {
			f.Add(content)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if IsZip(content) == zip {
			exercise(t, content)
		}
	})
}

func FuzzNPY(f *testing.F) { fuzzFiles(f, false) }

func FuzzNPZ(f *testing.F) { fuzzFiles(f, true) }
