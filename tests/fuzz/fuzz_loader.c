/* Any bytes as ldconfig's cache, behind the name of a library and a line end: a path of it lies
 * in there, to its end, and is the same wherever the newer table begins. */
#include "lib/host/loader.h"

#include <stdlib.h>

enum { NAME_MAX_BYTES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void expect(bool truth)
{
	if (!truth)
		abort();
}

/* Where in @cache the path is; @n: there is none. */
static size_t found(const char *cache, size_t n, const char *name)
{
	const char *path = loader_in_cache(cache, n, name);

	if (!path)
		return n;
	expect(path >= cache && path < cache + n);
	expect(memchr(path, '\0', n - (size_t)(path - cache)) != NULL);
	return (size_t)(path - cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char older[] =
		"ld.so-1"; /* of an odd length: what follows is aligned to nothing */
	AUTO(arena_done) struct arena a = {0};
	const uint8_t *end = memchr(data, '\n', n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES);
	const char *name, *cache;
	size_t at, before = strlen(older);
	char *behind;

	if (!end)
		return 0;
	name = arena_strndup(&a, (const char *)data, (size_t)(end - data));
	cache = (const char *)end + 1;
	n -= (size_t)(end + 1 - data);
	at = found(cache, n, name);
	behind = malloc(before + n); /* and nothing behind it, as an arena has */
	expect(behind != NULL);
	memcpy(behind, older, before);
	memcpy(behind + before, cache, n);
	expect(found(behind, before + n, name) == at + before);
	free(behind);
	return 0;
}
