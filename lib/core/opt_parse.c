#include "lib/core/opt_table.h"

#include "lib/core/term.h"

/* Wider lines are hard to read. */
enum { HELP_COLUMNS = 100 };

struct parser {
	const struct command *cmd;
	opt_rows rows;
	struct arena *a;
	struct err *e;
	const str_list *operands;
	const struct opt_row *alone; /* the option just before, which took no value: --suggest */
};

/* An option as it was written: what to call it in a message, and its row. */
struct seen {
	const struct opt_row *row;
	const char *as;
	bool off; /* --no-NAME */
};

static int set_value(struct parser *p, const struct seen *s, const char *value)
{
	/* Two rows may share their storage: --json is short for --format json. */
	for (size_t i = 0; i < p->rows.n; i++)
		p->rows.v[i].given |= p->rows.v[i].at == s->row->at;
	return opt_store(s->row, s->as, value, s->off, p->a, p->e);
}

static const struct opt_row *find_long(const struct parser *p, const char *name, size_t n)
{
	for (size_t i = 0; i < p->rows.n; i++) {
		const char *have = p->rows.v[i].o->name;

		if (!strncmp(have, name, n) && !have[n])
			return &p->rows.v[i];
	}
	return NULL;
}

static const struct opt_row *find_short(const struct parser *p, char letter)
{
	for (size_t i = 0; letter && i < p->rows.n; i++)
		if (p->rows.v[i].shortname == letter)
			return &p->rows.v[i];
	return NULL;
}

/* Did-you-mean for @arg, dashes and value taken off. */
static int suggest(struct parser *p, const char *arg)
{
	const char *word = arg + strspn(arg, "-"), *near;
	str_list names = {0};

	word = arena_strndup(p->a, word, strcspn(word, "="));
	for (size_t i = 0; i < p->rows.n; i++) {
		const struct opt *o = p->rows.v[i].o;

		if (o->hidden)
			continue;
		*LIST_ADD(p->a, &names) = o->name;
		if (o->type == OPT_BOOL && starts_with(word, "no-"))
			*LIST_ADD(p->a, &names) = arena_printf(p->a, "no-%s", o->name);
	}
	near = nearest_name(word, names.v, names.n);
	return near ? err_hint(p->e, "did you mean --%s?", near) : -1;
}

/* It may be of a command line that was not quoted. */
static int suggest_quotes(struct parser *p, const char *arg)
{
	const char *hint = p->cmd->line_hint, *hole = hint ? strstr(hint, "%s") : NULL;

	if (!hole || p->operands->n < 3 || !streq(p->operands->v[0], p->cmd->line_verb))
		return -1;
	return err_hint(p->e, "%.*s%s%s", (int)(hole - hint), hint, arg, hole + 2);
}

static int unknown(struct parser *p, const char *arg)
{
	err_set(p->e, ERR_USAGE, "unknown option '%.*s'", (int)strcspn(arg, "="), arg);
	suggest(p, arg);
	return *p->e->hint ? -1 : suggest_quotes(p, arg);
}

/* A known option where a value should be was hardly meant as one. */
static bool looks_like_option(const struct parser *p, const char *arg)
{
	return starts_with(arg, "--") && find_long(p, arg + 2, strcspn(arg + 2, "="));
}

/* @value: what is glued to the option, or NULL. Returns how many further arguments it took. */
static int take(struct parser *p, const struct seen *s, const char *value, const char *next)
{
	const struct opt *o = s->row->o;
	const char *metavar = opt_metavar(o);

	if (!metavar)
		return value ? err_set(p->e, ERR_USAGE, "%s takes no value, but got '%s'", s->as,
				       value)
			     : set_value(p, s, o->type == OPT_BOOL ? "yes" : o->if_bare);
	if (value)
		return set_value(p, s, value);
	if (o->if_bare) {
		p->alone = s->row;
		return set_value(p, s, o->if_bare);
	}
	if (!next)
		return err_set(p->e, ERR_USAGE, "%s needs a value: %s", s->as, metavar);
	if (looks_like_option(p, next))
		return err_set(p->e, ERR_USAGE, "%s needs a value (%s), but '%s' follows", s->as,
			       metavar, next);
	return set_value(p, s, next) ? -1 : 1;
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
	for (const char *c = arg + 1; *c; c++) {
		struct seen s = {.row = find_short(p, *c), .as = arena_printf(p->a, "-%c", *c)};

		if (!s.row && c == arg + 1)
			return unknown(p, arg);
		if (!s.row) {
			err_set(p->e, ERR_USAGE, "unknown option '-%c' in '%s'", *c, arg);
			return suggest_quotes(p, arg);
		}
		if (opt_metavar(s.row->o))
			return take(p, &s, c[1] ? c + 1 : NULL, next);
		if (take(p, &s, NULL, NULL))
			return -1;
	}
	return 0;
}

static bool is_choice(const struct opt *o, const char *arg)
{
	for (const char *const *c = o->choices; c && *c; c++)
		if (streq(*c, arg))
			return true;
	return false;
}

/* A word without dashes: a value that lost its '=', an option, a value that lost its option. */
static int suggest_for_word(struct parser *p, const char *arg)
{
	if (p->alone && is_choice(p->alone->o, arg))
		return err_hint(p->e, "did you mean --%s=%s?", p->alone->o->name, arg);
	for (size_t i = 0; !find_long(p, arg, strlen(arg)) && i < p->rows.n; i++) {
		const struct opt *o = p->rows.v[i].o;

		if (!o->hidden && is_choice(o, arg))
			return err_hint(p->e, "did you mean --%s=%s?", o->name, arg);
	}
	suggest(p, arg);
	return *p->e->hint || !p->cmd->stray ? -1 : err_hint(p->e, "%s", p->cmd->stray);
}

static int take_operand(struct parser *p, const char *arg, str_list *operands)
{
	if (p->cmd->operand) {
		*LIST_ADD(p->a, operands) = arg;
		return 0;
	}
	err_set(p->e, ERR_USAGE, "unexpected operand '%s'", arg);
	return suggest_for_word(p, arg);
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
static const char *answer(struct parser *p, const char *wanted, const struct opt_table *t,
			  size_t nt)
{
	struct term term;
	struct text out;

	text_init(&out, p->a);
	if (streq(wanted, "version")) {
		text_addf(&out, "%s (windsock) %s\n", p->cmd->name, WINDSOCK_VERSION);
	} else if (streq(wanted, "help")) {
		term_probe(&term, STDOUT_FILENO);
		opt_help(p->cmd, t, nt, term.width < HELP_COLUMNS ? term.width : HELP_COLUMNS,
			 &out);
	} else if (streq(wanted, "bash")) {
		opt_bash(p->cmd, t, nt, &out);
	} else if (streq(wanted, "zsh")) {
		opt_zsh(p->cmd, t, nt, &out);
	} else if (streq(wanted, "man")) {
		opt_man(p->cmd, t, nt, &out);
	} else {
		opt_markdown(p->cmd, t, nt, &out);
	}
	return out.s;
}

static int parse_args(struct parser *p, int argc, char **argv, str_list *operands,
		      const char *const *wanted)
{
	bool only_operands = false;

	for (int i = 1; i < argc && !*wanted; i++) {
		const struct opt_row *alone = p->alone;
		int took = 0;

		if (only_operands)
			took = take_operand(p, argv[i], operands);
		else if (streq(argv[i], "--"))
			only_operands = true;
		else
			took = take_arg(p, argv[i], i + 1 < argc ? argv[i + 1] : NULL, operands);
		if (took < 0)
			return -1;
		if (p->alone == alone) /* it stood before this one */
			p->alone = NULL;
		i += took;
	}
	return 0;
}

enum opt_result opt_parse(const struct command *cmd, const struct opt_table *tables, size_t ntables,
			  int argc, char **argv, struct arena *a, str_list *operands,
			  const char **ret_answer, struct err *e)
{
	const char *wanted = NULL;
	struct parser p = {.cmd = cmd, .operands = operands, .a = a, .e = e};
	int rc;

	opt_flatten(tables, ntables, &wanted, a, &p.rows);
	rc = parse_args(&p, argc, argv, operands, &wanted);
	if (!rc && wanted) {
		*ret_answer = answer(&p, wanted, tables, ntables);
		return OPT_DONE;
	}
	if (!rc)
		rc = read_environment(&p);
	if (rc && !*e->hint)
		err_hint(e, "see %s --help", cmd->name);
	return rc ? OPT_ERROR : OPT_RUN;
}
