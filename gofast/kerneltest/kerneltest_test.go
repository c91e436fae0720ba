package kerneltest

import "testing"

func TestEveryLevelDoesWhatPlainCDoes(t *testing.T) {
	turns := uint64(400)
	if testing.Short() {
		turns = 100
	}
	for _, k := range All() {
		t.Run(k.Name, func(t *testing.T) {
			for level := 1; level <= k.Levels; level++ {
				for seed := range turns {
					if wrong := k.Try(level, seed, nil); wrong != "" {
						t.Fatalf("seed %d: %s", seed, wrong)
					}
				}
			}
		})
	}
}

// FuzzKernels chooses what the dice show first.
func FuzzKernels(f *testing.F) {
	all := All()
	for i := range all {
		f.Add(byte(i), uint64(1), []byte{3, 0, 0, 0, 0, 0, 0, 0, 1})
	}
	f.Fuzz(func(t *testing.T, which byte, seed uint64, given []byte) {
		k := all[int(which)%len(all)]
		for level := 1; level <= k.Levels; level++ {
			if wrong := k.Try(level, seed, given); wrong != "" {
				t.Fatalf("%s: %s", k.Name, wrong)
			}
		}
	})
}
