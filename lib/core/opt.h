#ifndef LIB_CORE_OPT_H
#define LIB_CORE_OPT_H
/*
 * The only place an option is written down is a table of struct opt; a
 * command owns one table and shares others (cmd/app.h has the common one).
 * Parsing, --help, did-you-mean, bash and zsh completion, the man page and
 * the tables in docs/ are all rendered from it, so they cannot disagree.
 *
 * Options may be written --name VALUE, --name=VALUE, -n VALUE, -nVALUE;
 * short switches may be bundled (-qv). A unique prefix of a long name is NOT
 * accepted: scripts must not break when an option is added. `--` ends options.
 * `help` and `version` as the only argument are those options. A list of hosts (OPT_C_HOSTS) is one
 * word: what stands behind it for want of a comma is refused.
 * A value missing on the command line is looked up in opt.env (an empty one
 * counts as unset) before the default that the caller left in the config
 * struct is used. The last of several values wins, OPT_LIST keeps them all.
 * Where two tables have an option of one name, the first table's is used.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

enum opt_type {
	OPT_BOOL,     /* bool; no value; --no-NAME switches it off again */
	OPT_UINT,     /* uint64_t; decimal or 0x */
	OPT_SIZE,     /* uint64_t bytes; 8, 64K, 1M, 1G (binary, as nccl-tests) */
	OPT_DURATION, /* uint64_t nanoseconds; 10 (seconds), 500ms, 10s, 2m, 1h */
	OPT_DOUBLE,   /* double */
	OPT_STR,      /* const char * */
	OPT_CHOICE,   /* const char *, one of choices */
	OPT_LIST,     /* str_list; may be repeated; each value kept whole, in order */
};

/* What a shell should offer while a value is typed. */
enum opt_complete {
	OPT_C_NONE,
	OPT_C_FILE,
	OPT_C_DIR,
	OPT_C_HOST,
	OPT_C_HOSTS, /* a list of them, or a file */
	OPT_C_IFACE
};

struct opt {
	char shortname;	     /* 0 when there is none */
	const char *name;    /* long name without dashes; NULL makes the row a heading */
	const char *metavar; /* how help writes the value: "SIZE"; NULL for switches */
	const char *help;    /* one sentence, lower case, no full stop (heading: the title) */
	enum opt_type type;
	size_t off;		    /* offsetof() into the config struct of this table */
	const char *const *choices; /* NULL-terminated, for OPT_CHOICE */
	const char *const *words;   /* of which, parted by commas, a value may consist: offered
				       while it is typed; NULL-terminated */
	uint64_t min, max;	    /* for numbers; max 0 means no upper limit */
	const char *env;	    /* environment variable that gives a default */
	const char *def;	    /* the default as help prints it, or NULL */
	const char *if_bare;	    /* value taken when the option stands alone: --bashrc[=HOW];
				       without a metavar a switch that stands for this value:
				       --json for --format json */
	const char *beside;	    /* of a switch: the option for which a value behind it was
				       meant: wait, as --serve 2 is for --serve --wait 2 */
	enum opt_complete complete;
	bool many;   /* of a list: words behind the value are more values (FILE...) */
	bool hidden; /* works, but is in no help (test hooks) */
};

/* Rows of several tables, but for .off: which hosts, after what is done with them; and how they are
 * reached. */
#define OPT_HOSTS(what)                                                                            \
	.name = "hosts", .metavar = "HOSTS", .type = OPT_STR, .complete = OPT_C_HOSTS,             \
	.help = what ": a list, a Slurm hostlist, a hostfile (-: stdin), or the word lab"
#define OPT_RSH                                                                                    \
	.name = "rsh", .metavar = "CMD", .type = OPT_STR, .env = "WINDSOCK_RSH",                   \
	.help = "how to reach them, instead of ssh"
#define OPT_COPY_SELF                                                                              \
	.name = "copy-self", .type = OPT_BOOL,                                                     \
	.help = "hosts that have not this program get it, removed afterwards"
#define OPT_KEEP                                                                                   \
	.name = "keep", .type = OPT_BOOL, .help = "--copy-self: leave it there, for the next time"

struct opt_table {
	const struct opt *rows;
	size_t n;
	void *cfg; /* the struct that the rows' offsets point into */
};

struct command {
	const char *name;	 /* "ifprobe" */
	const char *summary;	 /* one line: what question it answers */
	const char *synopsis;	 /* "[OPTIONS]" or "[OPTIONS] HOST[:PORTS]..." */
	const char *about;	 /* a few paragraphs that teach; may be NULL */
	const char *examples;	 /* lines "  command   # what for"; may be NULL */
	const char *exits;	 /* NULL: the common table of exit codes */
	const char *environment; /* lines "NAME what for", of what stands beside options */
	const char *operand;	 /* what operands are called ("HOST"); NULL: none are taken */
	enum opt_complete operand_complete;
	const char *const *verbs; /* what the first operand may be instead; NULL-terminated */
	/* The verb whose second word is hosts and whose third a command line, and the hint at an
	 * option behind it that may be that command's, with a %s for it; NULL: there is none. */
	const char *line_verb, *line_hint;
	bool wraps;	   /* what stands behind -- is another command */
	const char *stray; /* no operands: the option that one without a dash may belong to */
};

/* A command with all of its options. */
struct opt_usage {
	const struct command *cmd;
	const struct opt_table *tables;
	size_t ntables;
};

enum opt_result { OPT_ERROR = -1, OPT_RUN = 0, OPT_DONE = 1 };

/*
 * Fills the tables' config structs. Operands go to @operands. OPT_DONE: the
 * option was --help, --version or --generate KIND and @ret_answer holds the
 * text to print on stdout. Values point into argv, the environment or @a.
 */
enum opt_result opt_parse(const struct opt_usage *u, int argc, char **argv, struct arena *a,
			  str_list *operands, const char **ret_answer, struct err *e) MUST_CHECK;

/* What is an ERR_USAGE where it is given without what it goes with: the first of them. */
struct opt_need {
	bool given, fits;
	const char *name, *with; /* "--wait", "--serve" */
};
int opt_check_needs(const struct opt_need *v, size_t n, struct err *e) MUST_CHECK;

/*
 * As somebody types it, the first option of @t that makes its struct another than @usual, of those
 * in @names (NULL-terminated) or, not @among, of all others; NULL: none. What an environment
 * variable may have said does not count. For what nobody would heed beside another option.
 */
const char *opt_given(const struct opt_table *t, const void *usual, const char *const *names,
		      bool among, struct arena *a);

/* As they are typed once more, with a blank before each: those of @names (NULL-terminated) that
 * make the struct of @t another than @usual, in the order of the table; "": none. What an
 * environment variable said is among them. */
const char *opt_typed(const struct opt_table *t, const void *usual, const char *const *names,
		      struct arena *a);

/* Renderings of one command: what --help and --generate answer. */
struct text;
void opt_help(const struct opt_usage *u, unsigned width, struct text *out);
void opt_bash(const struct opt_usage *u, struct text *out);
void opt_zsh(const struct opt_usage *u, struct text *out);
void opt_man(const struct opt_usage *u, struct text *out);
void opt_markdown(const struct opt_usage *u, struct text *out);

#endif
