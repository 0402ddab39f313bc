#include "probes/rules/nccl.h"

#include "lib/host/sysroot.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>
#include <sys/stat.h>

/*
 * The library is 200 MB of device code; its text and constants come first.
 * Reading the sentence it would log is a hundred times cheaper than loading
 * it, and works for wheels and tar balls whose file names carry no version.
 */
enum { LOOK_AT = 16 << 20 };

static unsigned version_inside(const char *path)
{
	static const char mark[] = "NCCL version ";
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned version = 0;
	struct stat st;
	char text[32] = "";
	const char *at, *hit;
	size_t n, left;
	void *map;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < 64)
		return 0;
	n = st.st_size < LOOK_AT ? (size_t)st.st_size : LOOK_AT;
	map = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return 0;
	for (at = map, left = n; !version && (hit = memmem(at, left, mark, strlen(mark)));
	     at = hit, left = n - (size_t)(at - (const char *)map)) {
		hit += strlen(mark);
		left = n - (size_t)(hit - (const char *)map);
		memcpy(text, hit, left < sizeof(text) ? left : sizeof(text) - 1);
		text[strcspn(text, " \n")] = '\0';
		if (nccl_version_parse(text, &version))
			version = 0;
	}
	(void)munmap(map, n);
	return version;
}

static unsigned version_in_folder(const char *folder, size_t n)
{
	char path[4096];

	if (n == 0 ||
	    snprintf(path, sizeof(path), "%.*s/libnccl.so.2", (int)n, folder) >= (int)sizeof(path))
		return 0;
	return version_inside(path);
}

static unsigned version_in_python(const char *prefix)
{
	glob_t g = {0};
	unsigned v = 0;
	char pattern[4096];

	if (!prefix || !*prefix ||
	    snprintf(pattern, sizeof(pattern),
		     "%s/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2",
		     prefix) >= (int)sizeof(pattern))
		return 0;
	if (glob(pattern, GLOB_NOSORT, NULL, &g) == 0 && g.gl_pathc)
		v = version_inside(g.gl_pathv[0]);
	globfree(&g);
	return v;
}

/* WINDSOCK_NCCL, the loader's path, then the active Python's packages. */
static unsigned installed(void)
{
	static const char *const folders[] = {"/usr/local/lib",
					      "/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/aarch64-linux-gnu",
					      "/usr/lib64",
					      "/usr/lib",
					      "/usr/local/cuda/lib64"};
	const char *given = getenv("WINDSOCK_NCCL"), *path = getenv("LD_LIBRARY_PATH");
	unsigned v = given && *given ? version_inside(given) : 0;

	for (size_t n; !v && path && *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		v = version_in_folder(path, n);
	}
	for (size_t i = 0; !v && i < ARRAY_LEN(folders); i++)
		v = version_in_folder(folders[i], strlen(folders[i]));
	if (!v)
		v = version_in_python(getenv("VIRTUAL_ENV"));
	return v ? v : version_in_python(getenv("CONDA_PREFIX"));
}

unsigned nccl_version(unsigned asked)
{
	static unsigned found;

	if (asked)
		return asked;
	if (!found && sysroot_is_real())
		found = installed();
	return found ? found : NCCL_VERSION_NEWEST;
}
