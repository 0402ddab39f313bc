#ifndef LIB_FLIGHT_FRAME_H
#define LIB_FLIGHT_FRAME_H
/* Is a file of Python's (a path of @n bytes) Python's own, or a package's, and not the program's?
 */
#include "lib/core/base.h"

bool frame_is_library(const char *path, size_t n);

#endif
