#ifndef LIB_CORE_FIX_H
#define LIB_CORE_FIX_H
/*
 * A fix is one text: a command for a shell, or words ("smaller batches") and lines for a program or
 * a file ("init_process_group(timeout=...)"). Who writes it says which: words begin with "- ", a
 * command is written as it is typed. So the kind goes wherever the text goes, into tables, the
 * catalogue and over the wire; what a person or another program is shown has no mark any more.
 * Only a command may stand where one pastes: "reset the GPUs or reboot" would run `reset`.
 *
 *	finding_fix(f, "sudo ip link set %s up", name);
 *	finding_fix(f, "- start it there, with the same command line as here");
 */
#include "lib/core/base.h"

#define FIX_WORDS "- "

/* Is @fix for a shell? */
bool fix_is_typed(const char *fix);
/* What is shown of it: all but the mark. */
const char *fix_text(const char *fix);
/* What stands before it in text: "->" before a command, " -" before words. */
const char *fix_mark(const char *fix);

#endif
