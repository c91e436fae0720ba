// Package picture is a C header (picture.h): what the image decoders and the
// kernels hand each other.
package picture
