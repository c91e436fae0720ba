package parquet

// values is one data page: its levels decoded, its values still encoded. It
// views the worker's buffers and is valid until the walk's next step.
type values struct {
	p        *pages
	encoding encoding
	count    int    // with nulls
	present  int    // without
	data     []byte // the encoded present values
	reps     []byte // nil where every value is a row
	defs     []byte // nil where every value is present
	offset   int64
}

// read decompresses a page and splits its levels off.
func (v *values) read(p *pages, h *pageHeader, body []byte) error {
	*v = values{p: p, encoding: h.encoding, count: int(h.values), present: int(h.values), offset: p.start}
	if h.kind == dataPageV2 {
		return v.readV2(p, h, body)
	}
	data, err := p.plain(body, int(h.uncompressed))
	if err != nil {
		return err
	}
	var reps, defs []byte
	if p.c.maxRep > 0 {
		if reps, data, err = cutLevels(data, h.repEnc); err != nil {
			return err
		}
	}
	if p.c.maxDef > 0 {
		if defs, data, err = cutLevels(data, h.defEnc); err != nil {
			return err
		}
	}
	v.data = data
	return v.readLevels(reps, defs)
}

// readV2 reads a page whose levels lie uncompressed before the values.
func (v *values) readV2(p *pages, h *pageHeader, body []byte) error {
	reps, defs := body[:h.repLen], body[h.repLen:h.repLen+h.defLen]
	body = body[h.repLen+h.defLen:]
	size := int(h.uncompressed - h.repLen - h.defLen)
	var err error
	if h.stored {
		if len(body) != size {
			return damaged("a stored page of %d bytes claims %d", len(body), size)
		}
		v.data = body
	} else if v.data, err = p.plain(body, size); err != nil {
		return err
	}
	if err := v.readLevels(reps, defs); err != nil {
		return err
	}
	// Empty and null lists are no nulls to some writers, so only plain columns
	// are held to the count.
	if p.c.maxRep == 0 && v.count-v.present != int(h.nulls) {
		return damaged("%d nulls, the page declares %d", v.count-v.present, h.nulls)
	}
	return nil
}

// plain is the page's body decompressed: a view of it where it is not compressed.
func (p *pages) plain(body []byte, size int) ([]byte, error) {
	if p.k.codec == codecNone {
		if len(body) != size {
			return nil, damaged("an uncompressed page of %d bytes claims %d", len(body), size)
		}
		return body, nil
	}
	p.packed = body
	data, err := grow(p.w, &p.w.plain, size)
	if err != nil {
		return nil, err
	}
	return data, p.w.decompress(p.k.codec, body, data)
}

// valueOf is the position in the page, nulls counted, of the present value i.
func (v *values) valueOf(i int) int {
	if v.defs == nil {
		return i
	}
	for at, d := range v.defs {
		if d == v.p.c.maxDef {
			if i == 0 {
				return at
			}
			i--
		}
	}
	return len(v.defs)
}
