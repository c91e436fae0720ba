package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast"
)

func TestRunPrintsJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("label,a,b\n"+strings.Repeat("1,2,3\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	args := []string{"run", path, "--batch", "16", "--threads", "1,2", "--epochs", "3", "--shuffle", "--seed", "0", "--json"}
	if err := command(context.Background(), args, &out, &log); err != nil {
		t.Fatal(err, log.String())
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Rows != 100 || r.Width != 2 || len(r.Runs) != 2 || len(r.Runs[1].Seconds) != 3 || r.Runs[0].RowsPerS <= 0 {
		t.Errorf("unexpected report: %+v", r)
	}
	out.Reset()
	if err := command(context.Background(), args[:len(args)-1], &out, &log); err != nil || !strings.Contains(out.String(), "100 rows x 2 features") {
		t.Errorf("text report: %v %q", err, out.String())
	}
}

func TestALabelThatIsNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("f1,target\n1,2\n3,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		said bool
		bad  error
	}{
		{nil, true, nil}, {[]string{"--label", "target"}, false, nil}, {[]string{"--label", ""}, false, nil},
		{[]string{"--label", "label"}, false, gofast.ErrSchema}, {[]string{"--header", "false", "--label", ""}, false, gofast.ErrSchema},
	} {
		var out, log bytes.Buffer
		err := command(context.Background(), append([]string{"run", path, "--epochs", "1"}, c.args...), &out, &log)
		if !errors.Is(err, c.bad) || strings.Contains(log.String(), `"target"`) != c.said {
			t.Errorf("%q: %v, %q", c.args, err, log.String())
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	for _, args := range [][]string{{}, {"walk"}, {"run"}, {"run", "x", "--threads", "0"}, {"run", "x", "--batch", "0"}, {"run", "x", "--no"}, {"run", "x", "--header", "maybe"}} {
		var out, log bytes.Buffer
		if err := command(context.Background(), args, &out, &log); !errors.Is(err, errUsage) || log.Len() == 0 {
			t.Errorf("%q: %v, %q", args, err, log.String())
		}
	}
}
