// Lets the library load on an older glibc than that of the machine that builds it, as a manylinux wheel must.
//
// The linker takes the newest version of every symbol: built on Debian 12 the library needed glibc 2.34. torch's own
// wheels need 2.28, or less. build_native.py has gcc read this file before all C code; then the first versions are
// linked, and nothing above 2.17 is left. They do the same: later ones moved from libpthread and libdl to libc (2.34),
// take less stack (2.32), or leave errno to the function itself (log and pow, 2.29). auditwheel sees what is missing here.
//
// No other header may be included here: <features.h> would be read before a file has defined _GNU_SOURCE.
#ifndef GOFAST_OLD_GLIBC_H
#define GOFAST_OLD_GLIBC_H

#ifndef __ASSEMBLER__

#define GF_VERSION(symbol, version) __asm__(".symver " #symbol "," #symbol "@GLIBC_" version)
#if defined(__aarch64__)
#define GF_FIRST(symbol) GF_VERSION(symbol, "2.17")
GF_FIRST(pthread_condattr_setclock);
#else
#define GF_FIRST(symbol) GF_VERSION(symbol, "2.2.5")
GF_VERSION(pthread_condattr_setclock, "2.3.3");
#endif

GF_FIRST(dladdr);
GF_FIRST(dlclose);
GF_FIRST(dlerror);
GF_FIRST(dlopen);
GF_FIRST(dlsym);
GF_FIRST(log);
GF_FIRST(pow);
GF_FIRST(pthread_attr_getstack);
GF_FIRST(pthread_attr_getstacksize);
GF_FIRST(pthread_create);
GF_FIRST(pthread_getattr_np);
GF_FIRST(pthread_join);
GF_FIRST(pthread_key_create);
GF_FIRST(pthread_once);
GF_FIRST(pthread_rwlock_rdlock);
GF_FIRST(pthread_rwlock_unlock);
GF_FIRST(pthread_rwlock_wrlock);
GF_FIRST(pthread_setspecific);
GF_FIRST(pthread_sigmask);

#endif
#endif
