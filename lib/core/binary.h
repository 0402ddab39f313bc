#ifndef LIB_CORE_BINARY_H
#define LIB_CORE_BINARY_H
/*
 * Whether a file is data for programs (an executable, a picture, weights) and no text. A log may
 * hold junk: NULs where it was cut off while it was written, colours, bars, wide characters, any
 * old encoding, the headers that docker puts before what a container prints. None of it makes a
 * text of data: who is in doubt reads it.
 */
#include "lib/core/base.h"

enum { BINARY_HEAD = 4096 /* first bytes that tell */ };

bool binary_begins(const char *head, size_t n);

#endif
