package jpeg

import (
	"errors"
	"image"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

func TestLibraryIsNamed(t *testing.T) {
	needLibrary(t)
	if name := Library(); !strings.HasPrefix(name, "libjpeg-turbo") || !strings.Contains(name, "libjpeg") || !strings.Contains(name, ", ") {
		t.Errorf("the library is called %q", name)
	}
	if err := Format.Load("/no/such/library"); err != nil {
		t.Errorf("a second Load: %v", err)
	}
}

// Runs in a process of its own: a library that was found stays.
func TestLoadRefuses(t *testing.T) {
	const given = "GOFAST_TEST_PATH"
	if os.Getenv(given) != "" {
		if _, err := Format.NewDecoder().Decode(photo(t, 8, 8, false), image.Rectangle{}); !errors.Is(err, errs.ErrUnsupported) {
			t.Errorf("decode without a library: error %v", err)
		}
		if err := Format.Load(os.Getenv(given)); !errors.Is(err, errs.ErrUnsupported) || !strings.Contains(err.Error(), os.Getenv("GOFAST_LIBJPEG")) {
			t.Errorf("error %v", err)
		}
		if Library() != "" {
			t.Errorf("loaded %s", Library())
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, named := range []string{"/no/such/library", "libc.so.6"} { // nothing else is tried where one is named
		child := exec.Command(self, "-test.run=^TestLoadRefuses$")
		child.Env = append(os.Environ(), given+"=libjpeg.so.62", "GOFAST_LIBJPEG="+named)
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", named, err, out)
		}
	}
}
