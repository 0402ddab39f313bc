#ifndef PROBES_IFACE_EMIT_H
#define PROBES_IFACE_EMIT_H
/*
 * A suggestion in the syntax of the place it is going to: a shell, NCCL's own
 * conf file, a systemd drop-in, Slurm's TaskProlog, docker's env file, a
 * Kubernetes ConfigMap. Each syntax quotes differently (docker and nccl.conf
 * not at all), which is why nobody should do it by hand.
 */
#include "lib/core/rcfile.h"
#include "probes/iface/suggest.h"

enum emit_how {
	EMIT_FIXED,    /* the values found now */
	EMIT_COMPUTED, /* a line that asks ifprobe again on every node, every time */
};

struct emit_form {
	const char *name; /* "shell", "nccl.conf", ... */
	const char *help; /* what it is and who reads it */
	/* The whole text, or the body of a marked block where @is_block. */
	void (*render)(const struct suggestion *s, struct text *out);
	/*
	 * The line asks for a proof with @peers (--peer, as typed), and while they do
	 * not answer for the choice by rank. NULL: only fixed values make sense there.
	 */
	void (*render_computed)(const str_list *peers, struct text *out);
	bool text_only; /* its reader takes printable UTF-8, which a name need not be */
	bool is_block;	/* goes between our markers into a file that has other owners */
	enum rc_place place;
	/* What a new file begins with, above the block. A file that begins so and was not made by
	 * us is somebody else's program. NULL: the block may stand in any file. */
	const char *head;
	/* Of a whole file: the lines that @render would make it of. */
	void (*read)(const char *text, struct suggestion *ret);
	unsigned mode;
	const char *root_path; /* where it is written by root; NULL: say --to */
	const char *user_path; /* below $HOME (starts with "~/") or in the current folder */
	const char *then;      /* what the user has to do after that, or NULL */
};
/* Adds " --peer node1 --peer node2:4000", quoted for a shell. */
void emit_peer_args(const str_list *peers, struct text *out);
/* Where ~/.bashrc finds us although its PATH has not our folder: of a build that nobody installed,
 * whose folder was put on the PATH of one shell alone. "": it needs no telling, or others could put
 * another program there. */
const char *emit_own_folder(struct arena *a);
/* The PATH that a shell has that inherits none of anybody's: of a login, of a Slurm task. */
#define EMIT_USUAL_PATH "/usr/local/bin:/usr/bin:/bin"
/* "suggest.form" as a failure, where @form cannot hold the interface's name; true when it can. */
bool emit_can_say(const struct emit_form *form, const struct suggestion *s, struct report *r);
extern const char *const emit_print_names[]; /* NULL-terminated: for --suggest=FORM */
extern const char *const emit_write_names[]; /* NULL-terminated: for --write KIND */
const struct emit_form *emit_find(const char *name);

#endif
