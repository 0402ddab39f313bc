#include "lib/flight/frame.h"

bool frame_is_library(const char *path, size_t n)
{
	static const char *const parts[] = {"/site-packages/",	  "/dist-packages/", "/lib/python",
					    "/lib64/python",	  "<frozen ",	     "<string>",
					    "/torch/distributed/"};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (memmem(path, n, parts[i], strlen(parts[i])))
			return true;
	return false;
}
