/*
 * For LD_PRELOAD: what is in a folder called "slow" is on a file system whose server is busy:
 * whoever looks for a file there waits a while.
 */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

int access(const char *path, int mode)
{
	static int (*real)(const char *, int);

	if (strstr(path, "/slow/"))
		(void)usleep(300000);
	if (!real)
		*(void **)(&real) = dlsym(RTLD_NEXT, "access");
	return real(path, mode);
}
