#ifndef LIB_HOST_ANSWERS_H
#define LIB_HOST_ANSWERS_H
/*
 * Does a folder answer? That of a file server that is gone does not: whoever looks there hangs for
 * ever, and not even SIGKILL ends it. So a process of its own looks, and is left behind when it
 * hangs. For one thread.
 */
#include "lib/core/base.h"

/* Three seconds at most, and asked once in a process. What is not there answers. */
bool folder_answers(const char *path);
/* Typed for one that does not: findmnt -T looks at the folder, too, and hangs with it. */
#define FOLDERS_SERVERS "findmnt -lo TARGET,SOURCE,FSTYPE"

#endif
