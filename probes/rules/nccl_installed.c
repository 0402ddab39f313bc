#include "probes/rules/nccl.h"

#include "lib/host/loader.h"
#include "lib/host/places.h"
#include "lib/host/sysroot.h"

#include <fcntl.h>
#include <limits.h>
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

struct reading {
	struct arena a;
	const char *path;
	unsigned version;
};

static bool read_version(void *arg, enum place place, const char *what)
{
	struct reading *r = arg;
	const char *path = place == PLACE_FILE	    ? what
			   : place == PLACE_PROCESS ? loader_has(&r->a, what)
						    : loader_finds(&r->a, what);

	r->version = path ? version_inside(path) : 0;
	r->path = path ? arena_strdup(&r->a, path) : NULL; /* the search does not keep it */
	return r->version != 0;
}

/* Looked for once. */
static struct {
	bool is_known;
	unsigned version;
	char path[PATH_MAX]; /* "": there is none */
} installed;

static void look(void)
{
	struct library_want nccl = places_of_nccl(NULL);
	struct reading r = {.version = 0};

	if (installed.is_known || !sysroot_is_real())
		return;
	installed.is_known = true;
	if (places_search(&nccl, read_version, &r)) {
		installed.version = r.version;
		(void)snprintf(installed.path, sizeof(installed.path), "%s", r.path);
	}
	arena_done(&r.a);
}

unsigned nccl_installed(void)
{
	look();
	return installed.version;
}

const char *nccl_installed_path(void)
{
	look();
	return *installed.path ? installed.path : NULL;
}

unsigned nccl_version(unsigned asked)
{
	unsigned found = asked ? asked : nccl_installed();

	return found ? found : NCCL_VERSION_NEWEST;
}
