//go:build python

// fstat is a symbol since glibc 2.33; before, it was a macro around this one, which is still there. The linker puts
// __wrap_fstat in its place (build_native.py: --wrap=fstat). See old_glibc.h.
#include <sys/stat.h>

#if defined(__GLIBC__)
#if defined(__x86_64__)
#define VERSION 1
#else
#define VERSION 0
#endif

int __fxstat(int version, int fd, struct stat *about);

int __wrap_fstat(int fd, struct stat *about);
int __wrap_fstat(int fd, struct stat *about) { return __fxstat(VERSION, fd, about); }
#endif
