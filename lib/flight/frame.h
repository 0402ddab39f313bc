#ifndef LIB_FLIGHT_FRAME_H
#define LIB_FLIGHT_FRAME_H
/* Whose a file of Python's is, a path of @n bytes. */
#include "lib/core/base.h"

/* Python's own, or a package's, and not the program's? */
bool frame_is_library(const char *path, size_t n);
/* Whose it is; NONE: no file is known. */
enum frame_owner { FRAME_NONE, FRAME_PROGRAM, FRAME_PACKAGE, FRAME_PYTHON };
enum frame_owner frame_owner(const char *path, size_t n);
/* Its name, without the folders. */
const char *frame_file(const char *path, size_t n);

#endif
