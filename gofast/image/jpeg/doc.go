// Package jpeg decodes JPEG files to exactly the pixels that Pillow's
// Image.open(f).convert("RGB") shows, and accepts exactly the files that Pillow
// accepts. It does so in C, with libjpeg-turbo, which is found at run time:
// nothing of it is needed to build.
//
// What Pillow has to decide itself, such as arithmetic coding or files of
// several pictures, is an [errs.ErrUnsupported].
package jpeg
