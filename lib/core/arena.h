#ifndef LIB_CORE_ARENA_H
#define LIB_CORE_ARENA_H
/*
 * The text and lists of one run live in an arena and are freed together.
 * Nothing in it is ever freed alone. Allocation does not fail: when the
 * machine has no memory left for a few bytes, the process says so and ends
 * with exit code 3 (the one place outside main that may end it, because no
 * caller could do anything better).
 *
 *	AUTO(arena_done) struct arena a = {0};
 *	char *s = arena_printf(&a, "%s:%u", host, port);
 */
#include "lib/core/base.h"

#include <stdarg.h>

struct arena_block;

struct arena {
	struct arena_block *top;
};

void *arena_alloc(struct arena *a, size_t n); /* zeroed, aligned for anything */
void *arena_grow(struct arena *a, void *old, size_t old_n, size_t n); /* copies; rest zeroed */
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap) PRINTF(2, 0);
void arena_done(struct arena *a);

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))

/* A growing list inside an arena: LIST(struct iface) ifaces; */
#define LIST(type)                                                                                 \
	struct {                                                                                   \
		type *v;                                                                           \
		size_t n, cap;                                                                     \
	}
/* Appends one zeroed element and yields a pointer to it (valid until the next append). */
#define LIST_ADD(a, list)                                                                          \
	((list)->n == (list)->cap                                                                  \
		 ? ((list)->v =                                                                    \
			    arena_grow((a), (list)->v, (list)->cap * sizeof(*(list)->v),           \
				       ((list)->cap ? (list)->cap * 2 : 8) * sizeof(*(list)->v)),  \
		    (list)->cap = (list)->cap ? (list)->cap * 2 : 8)                               \
		 : (list)->cap,                                                                    \
	 &(list)->v[(list)->n++])

/* The list every option and parser of names uses. */
typedef LIST(const char *) str_list;
bool list_has(const str_list *l, const char *s);

#endif
