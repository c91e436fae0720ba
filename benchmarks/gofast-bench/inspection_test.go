package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/inspect"
)

func TestScanAndVerify(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{"good.csv": "a,b\n1,2\n", "bad.csv": "a,b\n1,2\n3\n", "notes.txt": "words"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good, none := filepath.Join(root, "good.csv"), filepath.Join(root, "none")
	for _, c := range []struct {
		args   []string
		status int
		out    string
	}{
		{[]string{"scan", good}, statusDone, "1 row x 2 columns"},
		{[]string{"verify", good}, statusDone, "nothing is damaged"},
		{[]string{"scan", root}, statusFailed, "bad.csv"},
		{[]string{"verify", root, "--threads", "3"}, statusFailed, "bad.csv"},
		{[]string{"scan", none}, statusFailed, ""}, {[]string{"verify", none}, statusFailed, ""},
		{[]string{"scan"}, statusUsage, ""}, {[]string{"verify"}, statusUsage, ""},
		{[]string{"scan", root, "--threads", "-1"}, statusUsage, ""}, {[]string{"scan", root, "--threads", "0"}, statusUsage, ""}, {[]string{"verify", root, "--threads", "1000000"}, statusUsage, ""}, {[]string{"verify", root, "--no"}, statusUsage, ""},
	} {
		var out, log bytes.Buffer
		if status := execute(t.Context(), c.args, &out, &log); status != c.status || !strings.Contains(out.String(), c.out) || (out.Len() == 0) != (c.out == "") {
			t.Errorf("%q: %d, %q, %q", c.args, status, out.String(), log.String())
		}
	}
	var out, log bytes.Buffer
	var v inspect.Verification
	if status := execute(t.Context(), []string{"verify", root, "--json"}, &out, &log); status != statusFailed || log.Len() > 0 || json.Unmarshal(out.Bytes(), &v) != nil || len(v.Damaged) != 1 {
		t.Errorf("%d %s %s", status, out.String(), log.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status := execute(ctx, []string{"scan", root}, &out, &log); status != statusInterrupted {
		t.Errorf("%d %s", status, log.String())
	}
}
