//go:build python

// fstat and stat are symbols since glibc 2.33; before, they were macros around these, which are still there. The linker puts
// __wrap_fstat and __wrap_stat in their places (build_native.py: --wrap). See old_glibc.h.
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
int __xstat(int version, const char *path, struct stat *about);
int __wrap_stat(const char *path, struct stat *about);
int __wrap_stat(const char *path, struct stat *about) { return __xstat(VERSION, path, about); }
#endif
