package pybind

import (
	"context"

	"github.com/gofast-org/gofast/gofast/source/remote"
)

// probeFiles asks servers for the state of files.
func probeFiles(ctx context.Context, _ *task, files []*remote.File) (any, error) {
	return remote.Probe(ctx, files, remote.Options{})
}

type fetched struct {
	FD    int              `json:"fd"`
	Files []remote.Fetched `json:"files"`
}

// fetchFiles brings small files into memory.
func fetchFiles(ctx context.Context, t *task, files []*remote.File) (any, error) {
	fd, found, err := remote.Fetch(ctx, files, remote.Options{Progress: t.progress})
	return fetched{fd, found}, err
}

// download brings files to the disk.
func download(ctx context.Context, t *task, targets []*remote.Target) (any, error) {
	return nil, remote.Download(ctx, targets, remote.Options{Progress: t.progress})
}

// downloadFolder brings objects of a bucket into a folder.
func downloadFolder(ctx context.Context, t *task, f *remote.Folder) (any, error) {
	return nil, remote.DownloadFolder(ctx, f, remote.Options{Progress: t.progress})
}

// upload makes an object of a file.
func upload(ctx context.Context, t *task, u *remote.Upload) (any, error) {
	return nil, remote.Send(ctx, u, remote.Options{Progress: t.progress})
}

// listBucket says what a bucket has.
func listBucket(ctx context.Context, _ *task, l *remote.Listing) (any, error) {
	return remote.List(ctx, l, remote.Options{})
}

// closeIdle closes connections before a fork, which would keep them open in the child.
func closeIdle(nothing) (any, error) {
	remote.CloseIdle()
	return nil, nil
}
