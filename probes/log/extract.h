#ifndef PROBES_LOG_EXTRACT_H
#define PROBES_LOG_EXTRACT_H
/* What a line names, and putting it into advice. */
#include "lib/core/arena.h"
#include "probes/log/catalogue.h"

/* PLAIN: the host and port that torch's store was asked for. DOUBT, NONE: of a socket whose name
 * torch could not find out it prints something else (see endpoint.h); NONE: surely that. */
enum trust { TRUST_USUAL, TRUST_PLAIN, TRUST_DOUBT, TRUST_NONE };

struct extract {
	char addr[64], port[8], iface[24]; /* "": the line names none */
	char name[64];			   /* of a host, that does not resolve */
	enum trust trust;
};

/* The address that the line is about, the other side's where it names both; its port (0 is none);
 * and the interface that NCCL writes before one. */
void extract_line(const char *line, struct extract *ret);

/* What the @i-th group of @ere matched in @line; NULL: nothing, or it does not match. */
const char *extract_group(struct arena *a, int i, const char *ere, const char *line);

/* {name|else} -> value. */
struct term_value {
	const char *name, *value; /* NULL: not known */
};

struct filling {
	struct arena *a;
	const struct term_value *v;
	size_t n;
	const char *ere, *line; /* {1}..{9} are the expression's groups in the line; or NULL */
};

/*
 * Fills a template. NULL when a placeholder is unknown and has no "else". "{{" is a brace.
 * @is_shell: it will be pasted into a shell, and whoever wrote the log knew that: a value that is
 * more than a plain word is unknown. An IPv6 address before a colon gets brackets.
 */
const char *fill_template(const struct filling *f, const char *tpl, bool is_shell);

/* The placeholders that may be used; NULL-terminated. */
extern const char *const template_names[];

#endif
