#include "lib/core/opt_table.h"

#include "lib/core/near.h"
#include "lib/core/term.h"
#include "lib/core/version.h"

/* Wider lines are hard to read. */
enum { HELP_COLUMNS = 100 };

struct parser {
	const struct command *cmd;
	opt_rows rows;
	struct arena *a;
	struct err *e;
	const str_list *operands;
	const struct opt_row *alone;  /* the option just before, which took no value: --suggest */
	const char *hosts, *hosts_as; /* the value that was hosts, just before, and its option */
	const struct opt_row *many;   /* the latest option, where words behind it are its own */
	const char *many_as;
};

/* An option as it was written: what to call it in a message, and its row. */
struct seen {
	const struct opt_row *row;
	const char *as;
	bool off; /* --no-NAME */
};

static const struct opt_row *find_long(const struct parser *p, const char *name, size_t n)
{
	for (size_t i = 0; i < p->rows.n; i++) {
		const char *have = p->rows.v[i].o->name;

		if (!strncmp(have, name, n) && !have[n])
			return &p->rows.v[i];
	}
	return NULL;
}

static int set_value(struct parser *p, const struct seen *s, const char *value)
{
	/* Two rows may share their storage: --json is short for --format json. */
	for (size_t i = 0; i < p->rows.n; i++)
		p->rows.v[i].given |= p->rows.v[i].at == s->row->at;
	if (!opt_store(s->row, s->as, value, s->off, p->a, p->e))
		return 0;
	return *p->e->hint || !s->row->o->choices || !find_long(p, value, strlen(value))
		       ? -1
		       : err_hint(p->e, "did you mean --%s?", value);
}

static const struct opt_row *find_short(const struct parser *p, char letter)
{
	for (size_t i = 0; letter && i < p->rows.n; i++)
		if (p->rows.v[i].shortname == letter)
			return &p->rows.v[i];
	return NULL;
}

/* It may be of a command line that was not quoted. */
static int suggest_quotes(struct parser *p, const char *arg)
{
	const char *hint = p->cmd->line_hint, *hole = hint ? strstr(hint, "%s") : NULL;

	if (!hole || p->operands->n < 3 || !streq(p->operands->v[0], p->cmd->line_verb))
		return -1;
	return err_hint(p->e, "%.*s%s%s", (int)(hole - hint), hint, arg, hole + 2);
}

/* Is it one of ours but for a letter or two? A short one resembles many, and other commands have
 * words for what ours call otherwise: --timeout. */
static bool is_misspelt(const struct parser *p, const char *arg)
{
	enum { SHORT = 4 };
	const char *word = arg + strspn(arg, "-");

	word = arena_strndup(p->a, word, strcspn(word, "="));
	for (size_t i = 0; strlen(word) >= SHORT && i < p->rows.n; i++)
		if (!p->rows.v[i].o->hidden && is_slip_of(word, p->rows.v[i].o->name))
			return true;
	return false;
}

static int unknown(struct parser *p, const char *arg)
{
	err_set(p->e, ERR_USAGE, "unknown option '%.*s'", (int)strcspn(arg, "="), arg);
	if (!is_misspelt(p, arg))
		suggest_quotes(p, arg);
	if (!*p->e->hint)
		opt_suggest(&p->rows, arg, p->a, p->e);
	return *p->e->hint ? -1 : suggest_quotes(p, arg);
}

/* A known option where a value should be was hardly meant as one. */
static bool looks_like_option(const struct parser *p, const char *arg)
{
	return starts_with(arg, "--") && find_long(p, arg + 2, strcspn(arg + 2, "="));
}

static int lacks_value(struct parser *p, const struct seen *s, const char *next)
{
	if (next)
		err_set(p->e, ERR_USAGE, "%s needs a value, but '%s' follows", s->as, next);
	else
		err_set(p->e, ERR_USAGE, "%s needs a value", s->as);
	return err_hint(p->e, "%s %s: %s", s->as, opt_metavar(s->row->o),
			opt_sentence(s->row->o, p->a));
}

/* What is glued to --json was a file, whatever it is called. */
static int needs_none(struct parser *p, const struct seen *s, const char *value)
{
	const struct opt *o = s->row->o;

	err_set(p->e, ERR_USAGE, "%s takes no value, but got '%s'", s->as, value);
	return *value && !s->off && (o->if_bare || opt_is_beside(&p->rows, o, value)) && o->beside
		       ? opt_suggest_beside(o, value, p->a, p->e)
		       : -1;
}

/* @value: what is glued to the option, or NULL. Returns how many further arguments it took. */
static int take(struct parser *p, const struct seen *s, const char *value, const char *next)
{
	const struct opt *o = s->row->o;
	const char *metavar = opt_metavar(o);

	p->many = o->many ? s->row : NULL;
	p->many_as = s->as;
	if (!metavar && value)
		return needs_none(p, s, value);
	if (!metavar || (!value && o->if_bare)) {
		p->alone = s->row;
		return set_value(p, s, o->type == OPT_BOOL ? "yes" : o->if_bare);
	}
	if (!value && (!next || looks_like_option(p, next)))
		return lacks_value(p, s, next);
	if (o->complete == OPT_C_HOSTS) {
		p->hosts = value ? value : next;
		p->hosts_as = s->as;
	}
	return set_value(p, s, value ? value : next) ? -1 : !value;
}

static int take_long(struct parser *p, const char *arg, const char *next)
{
	size_t n = strcspn(arg + 2, "=");
	const char *value = arg[2 + n] ? arg + 2 + n + 1 : NULL;
	struct seen s = {.row = find_long(p, arg + 2, n), .as = arena_strndup(p->a, arg, 2 + n)};

	if (!s.row && starts_with(arg, "--no-") && n > 3) {
		s.row = find_long(p, arg + 5, n - 3);
		s.off = true;
	}
	if (!s.row || (s.off && s.row->o->type != OPT_BOOL))
		return unknown(p, arg);
	return take(p, &s, value, next);
}

/* -q, -qv, -n8, -n 8 */
static int take_short(struct parser *p, const char *arg, const char *next)
{
	/* -help, -np 2: nobody has bundled or glued that */
	if (arg[2] && find_long(p, arg + 1, strcspn(arg + 1, "=")))
		return unknown(p, arg);
	for (const char *c = arg + 1; *c; c++) {
		struct seen s = {.row = find_short(p, *c), .as = arena_printf(p->a, "-%c", *c)};

		if (!s.row && c == arg + 1)
			return unknown(p, arg);
		if (!s.row) {
			err_set(p->e, ERR_USAGE, "unknown option '-%c' in '%s'", *c, arg);
			return suggest_quotes(p, arg);
		}
		if (opt_metavar(s.row->o) && c[1] == '=') {
			err_set(p->e, ERR_USAGE, "%s takes its value without '='", s.as);
			return err_hint(p->e, "did you mean %s %s?", s.as,
					c[2] ? c + 2 : opt_metavar(s.row->o));
		}
		if (opt_metavar(s.row->o))
			return take(p, &s, c[1] ? c + 1 : NULL, next);
		if (take(p, &s, NULL, NULL))
			return -1;
	}
	return 0;
}

/* A word without dashes: a value that lost its '=', an option, a value that lost its option. */
static int suggest_for_word(struct parser *p, const char *arg)
{
	opt_suggest_for_word(&p->rows, p->alone ? p->alone->o : NULL, arg, p->a, p->e);
	return *p->e->hint || !p->cmd->stray ? -1 : err_hint(p->e, "%s", p->cmd->stray);
}

/* --serve 2, --json FILE: but not where files are what it reads. */
static bool is_beside(const struct parser *p, const char *arg)
{
	const struct command *cmd = p->cmd;
	bool reads = cmd->operand && cmd->operand_complete == OPT_C_FILE && !cmd->verbs;

	return p->alone && !reads && !p->operands->n && opt_is_beside(&p->rows, p->alone->o, arg);
}

static int take_operand(struct parser *p, const char *arg, str_list *operands)
{
	const struct seen more = {.row = p->many, .as = p->many_as};

	if (p->many)
		return set_value(p, &more, arg);
	if (is_beside(p, arg)) {
		err_set(p->e, ERR_USAGE, "unexpected operand '%s'", arg);
		return opt_suggest_beside(p->alone->o, arg, p->a, p->e);
	}
	if (p->cmd->operand) {
		*LIST_ADD(p->a, operands) = arg;
		return 0;
	}
	err_set(p->e, ERR_USAGE, "unexpected operand '%s'", arg);
	return suggest_for_word(p, arg);
}

static bool is_verb(const struct command *cmd, const char *word)
{
	for (const char *const *v = cmd->verbs; v && *v; v++)
		if (streq(*v, word))
			return true;
	return false;
}

/* Between these two stands a blank that was to be a comma alone. */
static bool is_torn(const char *left, const char *right)
{
	size_t n = strlen(left);

	return (n && left[n - 1] == ',') || *right == ',';
}

/* --hosts a, b: the words from @argv[0] on belong to the list before them. */
static int check_hosts(struct parser *p, char *const *argv)
{
	const struct command *cmd = p->cmd;
	bool may_follow = cmd->operand && (!cmd->verbs || p->operands->n || is_verb(cmd, *argv));
	str_list pieces = {0};

	if (may_follow && !is_torn(argv[-1], argv[0]))
		return 0;
	*LIST_ADD(p->a, &pieces) = p->hosts; /* all of argv[-1], or what is behind its '=' */
	for (; *argv && **argv != '-' && (!may_follow || is_torn(argv[-1], argv[0])); argv++)
		*LIST_ADD(p->a, &pieces) = *argv;
	err_set(p->e, ERR_USAGE, "%s takes one word, but '%s' follows", p->hosts_as, pieces.v[1]);
	return opt_suggest_list(p->hosts_as, &pieces, p->a, p->e);
}

/* Returns how many arguments behind the first it took. */
static int take_arg(struct parser *p, const char *arg, const char *next, str_list *operands)
{
	if (starts_with(arg, "--"))
		return take_long(p, arg, next);
	if (arg[0] == '-' && arg[1])
		return take_short(p, arg, next);
	return take_operand(p, arg, operands);
}

static int read_environment(struct parser *p)
{
	for (size_t i = 0; i < p->rows.n; i++) {
		const struct opt_row *row = &p->rows.v[i];
		const char *value = row->o->env ? getenv(row->o->env) : NULL;
		struct seen s = {.row = row, .as = row->o->env};

		if (value && *value && !row->given && set_value(p, &s, value))
			return -1;
	}
	return 0;
}

/* What every command answers by itself. */
static const char *answer(struct parser *p, const struct opt_usage *u, const char *wanted)
{
	struct term term;
	struct text out;

	text_init(&out, p->a);
	if (streq(wanted, "version")) {
		text_addf(&out, "%s (windsock) %s\n", p->cmd->name, WINDSOCK_VERSION);
	} else if (streq(wanted, "help")) {
		term_probe(&term, STDOUT_FILENO);
		opt_help(u, term.width < HELP_COLUMNS ? term.width : HELP_COLUMNS, &out);
	} else if (streq(wanted, "bash")) {
		opt_bash(u, &out);
	} else if (streq(wanted, "zsh")) {
		opt_zsh(u, &out);
	} else if (streq(wanted, "man")) {
		opt_man(u, &out);
	} else {
		opt_markdown(u, &out);
	}
	return out.s;
}

static int parse_args(struct parser *p, int argc, char **argv, str_list *operands,
		      const char **wanted)
{
	bool only_operands = false;

	/* Alone these are no host, file or verb. */
	if (argc == 2 && (streq(argv[1], "help") || streq(argv[1], "version"))) {
		*wanted = argv[1];
		return 0;
	}
	for (int i = 1; i < argc && !*wanted; i++) {
		const struct opt_row *alone = p->alone;
		const char *hosts = p->hosts;
		int took = 0;

		if (only_operands)
			took = take_operand(p, argv[i], operands);
		else if (streq(argv[i], "--"))
			only_operands = true;
		else if (hosts && *argv[i] != '-' && check_hosts(p, argv + i))
			return -1;
		else
			took = take_arg(p, argv[i], i + 1 < argc ? argv[i + 1] : NULL, operands);
		if (took < 0)
			return -1;
		if (p->alone == alone) /* it stood before this one */
			p->alone = NULL;
		if (p->hosts == hosts)
			p->hosts = NULL;
		i += took;
	}
	return 0;
}

enum opt_result opt_parse(const struct opt_usage *u, int argc, char **argv, struct arena *a,
			  str_list *operands, const char **ret_answer, struct err *e)
{
	const char *wanted = NULL;
	struct parser p = {.cmd = u->cmd, .operands = operands, .a = a, .e = e};
	int rc;

	opt_flatten(u, &wanted, a, &p.rows);
	rc = parse_args(&p, argc, argv, operands, &wanted);
	if (!rc && wanted) {
		*ret_answer = answer(&p, u, wanted);
		return OPT_DONE;
	}
	if (!rc)
		rc = read_environment(&p);
	if (rc && !*e->hint)
		err_hint(e, "see %s --help", u->cmd->name);
	return rc ? OPT_ERROR : OPT_RUN;
}
