#ifndef LIB_FLIGHT_FRAME_H
#define LIB_FLIGHT_FRAME_H
/* Whose a file of Python's is, a path of @n bytes. */
#include "lib/core/base.h"

/* Python's own, or a package's, and not the program's? */
bool frame_is_library(const char *path, size_t n);
/* Python's own: no package's either? */
bool frame_is_pythons(const char *path, size_t n);

#endif
