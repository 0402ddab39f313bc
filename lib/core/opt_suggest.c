/* What somebody meant who typed what is no option, or no operand. */
#include "lib/core/opt_table.h"

#include "lib/core/near.h"
#include "lib/core/quote.h"

#include <strings.h>

static size_t count(const char *const *names)
{
	size_t n = 0;

	while (names && names[n])
		n++;
	return n;
}

/* "--a, --b or --c" */
static const char *any_of(struct arena *a, const str_list *names)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < names->n; i++)
		text_addf(&t, "%s--%s", !i ? "" : i + 1 < names->n ? ", " : " or ", names->v[i]);
	return t.s;
}

/* Letters that people know from ssh, srun, pdsh and iperf3. */
static const struct {
	char letter;
	const char *ours;
} habits[] = {{'i', "rsh"}, {'l', "rsh"}, {'n', "hosts"}, {'s', "serve"}, {'w', "hosts"}};

static const char *habit(char letter)
{
	for (size_t i = 0; i < ARRAY_LEN(habits); i++)
		if (habits[i].letter == letter)
			return habits[i].ours;
	return "";
}

/* Those of ssh that go into --rsh, whose words were not quoted. */
static const struct {
	char letter;
	const char *value;
} ssh_letters[] = {{'i', "KEY"},	{'l', "USER"},	 {'p', "PORT"},
		   {'o', "NAME=VALUE"}, {'F', "CONFIG"}, {'J', "HOST"}};

static int of_ssh(const opt_rows *rows, char letter, bool given, struct err *e)
{
	const struct opt_row *rsh = NULL;

	for (size_t i = 0; i < rows->n; i++)
		if (streq(rows->v[i].o->name, "rsh"))
			rsh = &rows->v[i];
	for (size_t i = 0; rsh && i < ARRAY_LEN(ssh_letters); i++) {
		if (ssh_letters[i].letter != letter)
			continue;
		if (given && rsh->given)
			return err_hint(e, "quote --rsh whole: --rsh 'ssh -%c %s'", letter,
					ssh_letters[i].value);
		if (!given)
			return err_hint(e, "did you mean --rsh 'ssh -%c %s'?", letter,
					ssh_letters[i].value);
	}
	return -1;
}

/* Few options have a letter; most letters are the first of some. */
static int by_letter(const opt_rows *rows, char letter, struct arena *a, struct err *e)
{
	enum { FEW = 3 };
	const char low[] = {(char)(letter | ' '), 0};
	str_list names = {0};

	for (size_t i = 0; i < rows->n; i++)
		if (!rows->v[i].o->hidden && starts_with(rows->v[i].o->name, low))
			*LIST_ADD(a, &names) = rows->v[i].o->name;
	if (names.n > FEW)
		names.n = 0;
	for (size_t i = 0; i < rows->n; i++)
		if (streq(rows->v[i].o->name, habit(*low)) &&
		    !(names.n && starts_with(rows->v[i].o->name, low)))
			*LIST_ADD(a, &names) = rows->v[i].o->name;
	return names.n ? err_hint(e, "did you mean %s?", any_of(a, &names)) : -1;
}

/* Where it can be nothing of our own, as ifprobe's --ip, or --rsh stands before it. */
static int by_one_letter(const opt_rows *rows, char letter, struct arena *a, struct err *e)
{
	of_ssh(rows, letter, true, e);
	if (!*e->hint)
		by_letter(rows, letter, a, e);
	return ends_with(e->hint, "mean --rsh?") ? of_ssh(rows, letter, false, e) : -1;
}

/* A value that lost its option. */
static int by_value(const opt_rows *rows, const char *word, bool exactly, struct err *e)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct opt *o = rows->v[i].o;
		const char *near =
			o->hidden ? NULL : nearest_name(word, o->choices, count(o->choices));

		if (near && (!exactly || !strcasecmp(near, word)))
			return err_hint(e, "did you mean --%s=%s?", o->name, near);
	}
	return -1;
}

static int by_name(const opt_rows *rows, const char *word, struct arena *a, struct err *e)
{
	str_list names = {0};
	const char *near;

	for (size_t i = 0; i < rows->n; i++) {
		const struct opt *o = rows->v[i].o;

		if (o->hidden)
			continue;
		*LIST_ADD(a, &names) = o->name;
		if (o->type == OPT_BOOL && starts_with(word, "no-"))
			*LIST_ADD(a, &names) = arena_printf(a, "no-%s", o->name);
	}
	near = nearest_name(word, names.v, names.n);
	return near ? err_hint(e, "did you mean --%s?", near) : -1;
}

static bool is_name(const opt_rows *rows, const char *word)
{
	for (size_t i = 0; i < rows->n; i++)
		if (!rows->v[i].o->hidden && !strcasecmp(rows->v[i].o->name, word))
			return true;
	return false;
}

int opt_suggest(const opt_rows *rows, const char *arg, struct arena *a, struct err *e)
{
	const char *word = arg + strspn(arg, "-");

	word = arena_strndup(a, word, strcspn(word, "="));
	if (*word && !word[1])
		return *arg == '-' ? by_one_letter(rows, *word, a, e) : -1;
	if (!is_name(rows, word))
		by_value(rows, word, true, e);
	if (!*e->hint)
		by_name(rows, word, a, e);
	return *e->hint ? -1 : by_value(rows, word, false, e);
}

/* A file by how it is called: any other word may be meant for anything. */
bool opt_is_beside(const opt_rows *rows, const struct opt *o, const char *word)
{
	for (size_t i = 0; o->beside && i < rows->n; i++) {
		const struct opt *to = rows->v[i].o;

		if (streq(to->name, o->beside))
			return to->complete == OPT_C_FILE
				       ? ends_with(word, ".json") || *word == '.' || *word == '/'
				       : *word && !word[strspn(word, "0123456789")];
	}
	return false;
}

int opt_suggest_beside(const struct opt *o, const char *word, struct arena *a, struct err *e)
{
	return err_hint(e, "did you mean --%s --%s %s?", o->name, o->beside,
			shell_quote_line(a, word));
}

int opt_suggest_for_word(const opt_rows *rows, const struct opt *alone, const char *word,
			 struct arena *a, struct err *e)
{
	for (size_t i = 0; alone && i < count(alone->choices); i++)
		if (streq(alone->choices[i], word))
			return err_hint(e, "did you mean --%s=%s?", alone->name, word);
	/* node1 is a host, and no slip of --model */
	if (strpbrk(word, "0123456789") && !is_name(rows, word))
		return by_value(rows, word, false, e);
	return opt_suggest(rows, word, a, e);
}

/* Words with commas between them, whatever stood at their ends; quoted where a shell would care. */
int opt_suggest_list(const char *as, const str_list *pieces, struct arena *a, struct err *e)
{
	const char *quote = "";
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < pieces->n; i++) {
		const char *s = pieces->v[i] + strspn(pieces->v[i], ",");
		size_t n = strlen(s);

		while (n && s[n - 1] == ',')
			n--;
		text_add(&t, t.n && n ? "," : "");
		text_addn(&t, s, n);
		quote = strchr(s, '[') ? "'" : quote;
	}
	return err_hint(e, "did you mean %s %s%s%s?", as, quote, t.s, quote);
}
