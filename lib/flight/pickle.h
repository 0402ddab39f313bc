#ifndef LIB_FLIGHT_PICKLE_H
#define LIB_FLIGHT_PICKLE_H
/*
 * Reads a pickle of protocol 2 to 5, as Python and PyTorch's C++ write them,
 * without running what it names: a call's result is its argument where PyTorch
 * wraps lists and dicts that way, an empty dict for dict's own kin, and
 * something opaque otherwise.
 */
#include "lib/flight/value.h"

/* Do these first bytes begin one? */
bool pickle_begins(const char *head, size_t n);

/* The texts of @ret point into @data. @ret_cut: it ends before its end; may be NULL. */
int pickle_read(const char *data, size_t n, struct value_room *room, struct value *ret,
		bool *ret_cut, struct err *e) MUST_CHECK;

#endif
