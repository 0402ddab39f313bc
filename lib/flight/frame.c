#include "lib/flight/frame.h"

static bool has_any(const char *path, size_t n, const char *const *parts)
{
	for (size_t i = 0; parts[i]; i++)
		if (memmem(path, n, parts[i], strlen(parts[i])))
			return true;
	return false;
}

bool frame_is_library(const char *path, size_t n)
{
	static const char *const parts[] = {
		"/site-packages/", "/dist-packages/", "/lib/python",	     "/lib64/python",
		"<frozen ",	   "<string>",	      "/torch/distributed/", NULL};

	return has_any(path, n, parts);
}

enum frame_owner frame_owner(const char *path, size_t n)
{
	static const char *const pythons[] = {"/lib/python", "/lib64/python", NULL};
	static const char *const packages[] = {"/site-packages/", "/dist-packages/", NULL};

	if (!frame_is_library(path, n))
		return FRAME_PROGRAM;
	return has_any(path, n, pythons) && !has_any(path, n, packages) ? FRAME_PYTHON
									: FRAME_PACKAGE;
}

const char *frame_file(const char *path, size_t n)
{
	const char *slash = memrchr(path, '/', n);

	return slash ? slash + 1 : path;
}
