#ifndef LIB_CORE_OPT_TABLE_H
#define LIB_CORE_OPT_TABLE_H
/*
 * Private to lib/core/opt_*.c: all tables of a command and the rows that every
 * command has (--help, --version, --generate) as one list. The first table
 * that claims a long name or a short letter keeps it. @ret_wanted receives which text those three
 * ask for.
 */
#include "lib/core/opt.h"
#include "lib/core/text.h"

struct opt_row {
	const struct opt *o;
	const char *title; /* of the section that begins here, or NULL */
	char shortname;	   /* 0 where there is none or another row owns it */
	void *at;	   /* where the value goes */
	bool given;	   /* on the command line; the environment is not asked then */
};
typedef LIST(struct opt_row) opt_rows;

void opt_flatten(const struct opt_usage *u, const char **ret_wanted, struct arena *a,
		 opt_rows *ret);
/* Checks and stores. @as: what the option or variable is called; @off: it was --no-NAME. */
int opt_store(const struct opt_row *row, const char *as, const char *value, bool off,
	      struct arena *a, struct err *e) MUST_CHECK;
/* Did-you-mean as @e's hint, if any: for an unknown option; for a word without dashes (@alone: the
 * option before it that took no value, or NULL); for a list in several words. All return -1. */
int opt_suggest(const opt_rows *rows, const char *arg, struct arena *a, struct err *e);
int opt_suggest_for_word(const opt_rows *rows, const struct opt *alone, const char *word,
			 struct arena *a, struct err *e);
/* Is @word a value for what stands beside the switch @o (opt.beside)? And the hint that it is. */
bool opt_is_beside(const opt_rows *rows, const struct opt *o, const char *word);
int opt_suggest_beside(const struct opt *o, const char *word, struct arena *a, struct err *e);
int opt_suggest_list(const char *as, const str_list *pieces, struct arena *a, struct err *e);

/* NULL: a switch. */
const char *opt_metavar(const struct opt *o);
/* "-o, --output FILE", "--bashrc[=HOW]", "--[no-]color" */
const char *opt_spec(const struct opt_row *r, struct arena *a);
/* The help sentence with choices, default and environment variable in parentheses behind. */
const char *opt_sentence(const struct opt *o, struct arena *a);
/* "a size (8, 64K, 1M, 1G)": what a value may be. NULL: any text. */
const char *opt_accepts(const struct opt *o, struct arena *a);
/* "table, json, junit" */
const char *opt_join(struct arena *a, const char *const *names, const char *between);

/* "COMMAND  # what for" and "3  meaning" of a command's examples and exits, one per line. */
struct opt_pair {
	const char *left, *right;
};
typedef LIST(struct opt_pair) opt_pairs;
void opt_examples(const struct command *cmd, struct arena *a, opt_pairs *ret);
void opt_exits(const struct command *cmd, struct arena *a, opt_pairs *ret);
void opt_environment(const struct command *cmd, struct arena *a, opt_pairs *ret);

/* The about text as paragraphs; one that begins with a blank is shown as it is. */
void opt_paragraphs(const char *text, struct arena *a, str_list *ret);

#endif
