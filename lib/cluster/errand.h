#ifndef LIB_CLUSTER_ERRAND_H
#define LIB_CLUSTER_ERRAND_H
/*
 * A person's command on a host, which knows nothing of us. It ends with us: beside it somebody
 * reads the stdin that its way brings, and ends its process group where that ends. And what a
 * login prints before it is no part of what it says.
 */
#include "lib/core/arena.h"

/* For the account's shell, whatever that is; @command is for sh. */
const char *errand_script(struct arena *a, const char *command);
/* What is written to it first. A way that brings no stdin brings none of this either: there
 * nobody watches, and nothing is ended. */
#define ERRAND_GO "windsock\n"
/* It prints that first. */
#define ERRAND_BEGINS "windsock: what was asked for begins here"
#define ERRAND_MARK "\n" ERRAND_BEGINS "\n"
/* And that in a line behind it on stderr, where it ended with the code that is ssh's own, too. */
#define ERRAND_ENDED "windsock: it ended with 255"
/* Where what the command itself printed begins; @s as it is where it was not begun. */
const char *errand_said(const char *s, size_t n);
/* Has the command ended with 255? Then @err, what errand_said() leaves, ends before it is told. */
bool errand_ended(char *err);

#endif
