package numbers

import "github.com/gofast-org/gofast/gofast/internal/errs"

// Type is the type of a number, as it is stored or as it is made, in numbers.h's order.
type Type uint8

// The types: those that tables are stored in come first, from the narrowest to the widest.
const (
	Invalid Type = iota
	Uint8
	Int16
	Int32
	Int64
	Float32
	Float64
	Float16
	Bfloat16
)

// row is numpy's name, DLPack's code and the bits of a type.
type row struct {
	name       string
	code, bits int32
}

var types = [...]row{
	{"invalid", 0, 0}, {"uint8", 1, 8}, {"int16", 0, 16}, {"int32", 0, 32}, {"int64", 0, 64},
	{"float32", 2, 32}, {"float64", 2, 64}, {"float16", 2, 16}, {"bfloat16", 4, 16},
}

// String is numpy's name of the type, or torch's.
func (t Type) String() string { return t.row().name }

// row is that of Invalid for a number that is no type.
func (t Type) row() row {
	if int(t) >= len(types) {
		return types[Invalid]
	}
	return types[t]
}

// Size is the bytes of one value.
func (t Type) Size() int { return int(t.row().bits / 8) }

// Integer says that the type holds no fractions.
func (t Type) Integer() bool { return t <= Int64 }

// DLPack is the type as DLPack writes it.
func (t Type) DLPack() (code, bits int32) { return t.row().code, t.row().bits }

// OfDLPack is the inverse of DLPack; Invalid for anything else.
func OfDLPack(code, bits int32) Type {
	for i, t := range types {
		if t.code == code && t.bits == bits {
			return Type(i)
		}
	}
	return Invalid
}

// Named is the inverse of String; Invalid for anything else.
func Named(name string) Type {
	for i, t := range types {
		if t.name == name {
			return Type(i)
		}
	}
	return Invalid
}

// MarshalText is String for JSON.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is Named for JSON.
func (t *Type) UnmarshalText(name []byte) error {
	if *t = Named(string(name)); *t == Invalid {
		return errs.New(errs.ErrConfig, "type", "the type is unknown").WithCell(string(name))
	}
	return nil
}
