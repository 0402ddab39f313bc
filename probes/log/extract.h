#ifndef PROBES_LOG_EXTRACT_H
#define PROBES_LOG_EXTRACT_H
/* What a line names, and putting it into advice. */
#include "lib/core/arena.h"
#include "probes/log/catalogue.h"

struct extract {
	char addr[64], port[8], iface[24]; /* "": the line names none */
};

/* The first address, its port, and the interface that NCCL writes before one. */
void extract_line(const char *line, struct extract *ret);

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
 * more than a plain word is unknown.
 */
const char *fill_template(const struct filling *f, const char *tpl, bool is_shell);

/* The placeholders that may be used; NULL-terminated. */
extern const char *const template_names[];

#endif
