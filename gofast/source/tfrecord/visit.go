package tfrecord

import (
	"context"
	"io"
)

// Member is what a file holds that may be a picture: a file in a Tar, or a value of MDS or LitData.
type Member struct {
	Name     string
	At, Size int64
	Picture  bool // the file says that it is one
	Pixels   bool // it is one without a file format, and whole
	Sparse   bool // its bytes are not at one place
}

const together = 64 // members that are visited at a time

// visit are members that are still to be visited.
type visit struct {
	o       *Options
	content io.ReaderAt
	members []Member
}

// wanted says whether anybody visits members.
func (v *visit) wanted() bool { return v.o.Members != nil }

func (v *visit) see(ctx context.Context, m Member) error {
	if v.members = append(v.members, m); len(v.members) < together {
		return nil
	}
	return v.flush(ctx)
}

func (v *visit) flush(ctx context.Context) error {
	if len(v.members) == 0 {
		return nil
	}
	members := v.members
	v.members = v.members[:0]
	return v.o.Members(ctx, v.content, members)
}

// end visits the rest, also before damage, which is the error.
func (v *visit) end(ctx context.Context, err error) error {
	if failed := v.flush(ctx); err == nil {
		err = failed
	}
	return err
}
