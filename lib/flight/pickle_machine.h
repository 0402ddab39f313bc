#ifndef LIB_FLIGHT_PICKLE_MACHINE_H
#define LIB_FLIGHT_PICKLE_MACHINE_H
/* Between pickle.c and pickle_calls.c: the stack machine that a pickle is a program for. */
#include "lib/flight/pickle.h"

struct machine {
	const unsigned char *at, *end;
	struct value_room *room;
	struct value *stack, *memo;
	size_t n, cap, nmemo, memo_cap;
	uint32_t *marks; /* where on the stack */
	size_t nmarks, marks_cap;
	bool is_over, is_cut;
	const char *wrong; /* why it ended early */
};

/* All return false where the pickle is wrong; m->wrong says why. */
bool machine_wrong(struct machine *m, const char *why);
bool machine_push(struct machine *m, struct value v);
/* How many values are there to take, since the latest mark. */
size_t machine_depth(const struct machine *m);
bool machine_pop(struct machine *m, struct value *ret);
bool machine_bytes(struct machine *m, size_t n, const unsigned char **ret);
/* A new list or dict of the top @n values, in their place. */
bool machine_gather(struct machine *m, size_t n, enum value_kind kind);

/* Of pickle_calls.c. */
bool op_global(struct machine *m);
bool op_stack_global(struct machine *m);
bool op_reduce(struct machine *m);
bool op_newobj(struct machine *m);
bool op_newobj_ex(struct machine *m);
bool op_build(struct machine *m);

#endif
