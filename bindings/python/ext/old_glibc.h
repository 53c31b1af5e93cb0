/* SPDX-License-Identifier: MIT
   Included first, with LIBWEIR_PORTABLE=1, for a wheel that runs on glibc 2.28 however new the one is that it was built
   on: names that have a newer version, of threads since they moved into libc and of stat, are bound to their old one,
   which every later glibc keeps.  auditwheel sees to it that none was forgotten. */
#if defined(__linux__) && defined(__x86_64__)
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#define LIBWEIR_OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5");
LIBWEIR_OLD(pthread_create)
LIBWEIR_OLD(pthread_join)
LIBWEIR_OLD(pthread_key_create)
LIBWEIR_OLD(pthread_key_delete)
LIBWEIR_OLD(pthread_once)
LIBWEIR_OLD(pthread_setspecific)
LIBWEIR_OLD(pthread_getspecific)
LIBWEIR_OLD(pthread_sigmask)
LIBWEIR_OLD(__xstat)
LIBWEIR_OLD(__fxstat)
LIBWEIR_OLD(__lxstat)
extern int __xstat(int version, const char *path, struct stat *status);
extern int __fxstat(int version, int file, struct stat *status);
extern int __lxstat(int version, const char *path, struct stat *status);
#define stat(path, status) __xstat(1, path, status)
#define fstat(file, status) __fxstat(1, file, status)
#define lstat(path, status) __lxstat(1, path, status)
#endif
