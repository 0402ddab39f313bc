#ifndef PROBES_IFACE_WRITE_H
#define PROBES_IFACE_WRITE_H
/*
 * Writing a suggestion down where it will be read: a marked block in a file
 * of somebody else's, or a file of our own. Atomic, idempotent, undone to the
 * byte; --dry-run answers with the diff and touches nothing.
 */
#include "probes/iface/emit.h"

struct write_request {
	const struct emit_form *form;
	enum emit_how how;
	const char *to;	  /* --to PATH, or NULL for the form's own place */
	const char *unit; /* systemd only: the service */
	str_list peers;	  /* --peer: a computed line asks them again */
	const char *note; /* where fixed values come from, for a comment; NULL: nothing to say */
	bool dry_run, undo;
};

/* The file that would be written; -1 (usage) when nothing says where. */
int write_path(const struct write_request *q, struct arena *a, const char **ret,
	       struct err *e) MUST_CHECK;
/* @s may be NULL for an undo. Adds finding write.KIND and, for a dry run, the answer. */
int write_apply(const struct write_request *q, const struct suggestion *s, struct report *r,
		struct err *e) MUST_CHECK;

#endif
