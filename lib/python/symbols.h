#ifndef LIB_PYTHON_SYMBOLS_H
#define LIB_PYTHON_SYMBOLS_H
/*
 * Where a program or library of this machine's kind (ELF, 64 bits) has its
 * symbols, from the file alone: the file may be another machine's, or junk.
 */
#include "lib/core/base.h"

struct symbol {
	const char *name;
	bool is_there;
	uint64_t offset; /* from where the file's first bytes are mapped */
};

/* Marks those of @v that the file has. */
void symbols_find(const char *path, struct symbol *v, size_t n);

#endif
