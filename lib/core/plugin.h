#ifndef LIB_CORE_PLUGIN_H
#define LIB_CORE_PLUGIN_H
/*
 * Shared objects of ours that are linked against what most machines or most
 * runs do not need, so that no command starts with it. Each exports one struct
 * that begins with `unsigned version`. Looked for in $WINDSOCK_PLUGINS (a
 * folder) alone if that is set, else in ../lib/windsock beside the program's
 * folder: an installation can be moved as a whole.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

/* Of a command's man page. */
#define PLUGIN_ENVIRONMENT                                                                         \
	"WINDSOCK_PLUGINS The folder that plug-ins are in, in place of ../lib/windsock beside "    \
	"the "                                                                                     \
	"program's own.\n"

struct plugin_want {
	const char *name;    /* "curl": the file curl.so */
	const char *symbol;  /* what it exports */
	unsigned version;    /* of that struct */
	const char *package; /* brings the library that it is linked with: "libcurl4" */
	const char *build;   /* brings what building it needs */
};

/* The exported struct; NULL with ERR_ABSENT, which file, where it was looked for, which package.
 * It stays loaded. */
const void *plugin_load(const struct plugin_want *w, struct arena *a, struct err *e) MUST_CHECK;

#endif
