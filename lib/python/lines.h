#ifndef LIB_PYTHON_LINES_H
#define LIB_PYTHON_LINES_H
/*
 * Which line of its source an instruction of Python's is from, by the table
 * that the code object carries. Three forms of it are about. Pure.
 */
#include "lib/core/base.h"

enum line_table {
	LINES_STEPS,	 /* to 3.9: steps of address and line (co_lnotab) */
	LINES_SPANS,	 /* 3.10: spans, some without a line (PEP 626) */
	LINES_LOCATIONS, /* from 3.11: locations, of which the columns are skipped (PEP 657) */
};

/* @at: the instruction's offset in bytes; before the first (-2) is its line. 0: it has none. */
int line_of(enum line_table form, const uint8_t *table, size_t n, int first, int64_t at);

#endif
