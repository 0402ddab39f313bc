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
/* It prints that first, on both streams: a line of its own. */
#define ERRAND_BEGINS "windsock: what was asked for begins here"
/* And that with its exit code in a line behind it on stderr: a way has codes of its own, and may
 * not end while something that the command began holds its output. */
#define ERRAND_ENDED "windsock: it ended with "
/* Where what the command itself printed begins; NULL: it was not begun. */
char *errand_said(char *s, size_t n);
/* Where that ends, and with which code it did; NULL: nobody says so. */
char *errand_end(char *s, size_t n, int *ret_code);

#endif
