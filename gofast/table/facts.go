package table

// Facts are what the metadata of a file says of its table.
type Facts struct {
	// RowGroups is the number of a Parquet file's row groups, or of Arrow's record batches; 0 for other formats.
	RowGroups int           `json:"row_groups,omitempty"`
	Columns   []ColumnFacts `json:"columns"`
}

// ColumnFacts are those of one column.
type ColumnFacts struct {
	Name  string `json:"name"`
	Type  string `json:"type"`            // as the file stores it: "int64", "text", "timestamp[ms]"; of a text file, what its first rows hold
	Shape []int  `json:"shape,omitempty"` // of one row's value; none for a single cell
	Codec string `json:"codec,omitempty"` // "" where nothing is compressed
	// Min and Max are the least and the largest value of a column of numbers or dates, as texts. They
	// are "", and Nulls is nil, where the file does not say so.
	Min   string `json:"min,omitempty"`
	Max   string `json:"max,omitempty"`
	Nulls *int64 `json:"nulls,omitempty"`
	// Unusable says why the column can be neither a feature nor a label as it is.
	Unusable string `json:"unusable,omitempty"`
}

// Describer is a Reader that says what the file's metadata tells of its columns. It reads no values.
type Describer interface {
	Describe() (Facts, error)
}
