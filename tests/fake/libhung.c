/*
 * For LD_PRELOAD: what is in a folder called "hung" is on a file system whose server is dead:
 * whoever looks at it waits, and takes no notice of signals but SIGKILL. HUNG is another place.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef HUNG
#define HUNG "/hung/"
#endif

static void hang_at(const char *path)
{
	sigset_t all;

	if (!strstr(path, HUNG))
		return;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	for (;;)
		(void)pause();
}

int lstat(const char *restrict path, struct stat *restrict st)
{
	static int (*real)(const char *restrict, struct stat *restrict);

	hang_at(path);
	if (!real)
		*(void **)(&real) = dlsym(RTLD_NEXT, "lstat");
	return real(path, st);
}

/* What lstat() is to programs that were built before glibc 2.33. */
int __lxstat(int version, const char *path, struct stat *st);
int __lxstat(int version, const char *path, struct stat *st)
{
	static int (*real)(int, const char *, struct stat *);

	hang_at(path);
	if (!real)
		*(void **)(&real) = dlsym(RTLD_NEXT, "__lxstat");
	return real(version, path, st);
}

int stat(const char *restrict path, struct stat *restrict st)
{
	static int (*real)(const char *restrict, struct stat *restrict);

	hang_at(path);
	if (!real)
		*(void **)(&real) = dlsym(RTLD_NEXT, "stat");
	return real(path, st);
}

/* The same two in programs with 64-bit offsets: a shell that changes its folder. */
int stat64(const char *restrict path, struct stat64 *restrict st)
{
	static int (*real)(const char *restrict, struct stat64 *restrict);

	hang_at(path);
	if (!real)
		*(void **)(&real) = dlsym(RTLD_NEXT, "stat64");
	return real(path, st);
}

int chdir(const char *path)
{
	static int (*real)(const char *);

	hang_at(path);
	if (!real)
		*(void **)(&real) = dlsym(RTLD_NEXT, "chdir");
	return real(path);
}

int mkdir(const char *path, mode_t mode)
{
	static int (*real)(const char *, mode_t);

	hang_at(path);
	if (!real)
		*(void **)(&real) = dlsym(RTLD_NEXT, "mkdir");
	return real(path, mode);
}

int access(const char *path, int mode)
{
	static int (*real)(const char *, int);

	hang_at(path);
	if (!real)
		*(void **)(&real) = dlsym(RTLD_NEXT, "access");
	return real(path, mode);
}

int open(const char *path, int flags, ...)
{
	static int (*real)(const char *, int, ...);
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = va_arg(ap, int);
	va_end(ap);
	hang_at(path);
	if (!real)
		*(void **)(&real) = dlsym(RTLD_NEXT, "open");
	return real(path, flags, mode);
}

DIR *opendir(const char *path)
{
	static DIR *(*real)(const char *);

	hang_at(path);
	if (!real)
		*(void **)(&real) = dlsym(RTLD_NEXT, "opendir");
	return real(path);
}
