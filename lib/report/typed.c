#include "lib/report/typed.h"

#include "lib/core/fix.h"
#include "lib/report/json.h"
#include "lib/report/line.h"

#include <ctype.h>

/* Who is root types it without, who reads it of another host types it with it. */
static const char *without_sudo(const char *s) { return s + (starts_with(s, "sudo ") ? 5 : 0); }

static size_t command_length(const char *s)
{
	const char *end = line_remark(s);

	while (end > s && end[-1] == ' ')
		end--;
	return (size_t)(end - s);
}

/* --- what is not whole ----------------------------------------------------------------------- */

/* Of programs and files: columns, levels, chains, signals, and what is asked of nvidia-smi. */
static const char *const literal[] = {
	"ACCEPT",  "ALIVE",	  "CLOCK",   "COLL",	  "CORE",	 "CPU",	       "DEBUG",
	"DEFAULT", "DETAIL",	  "DOCKER",  "DROP",	  "ECC",	 "ERROR",      "FORWARD",
	"FSTYPE",  "GLIBCXX",	  "GNU",     "IB",	  "INFO",	 "INIT",       "INPUT",
	"KILL",	   "LOC",	  "MEMORY",  "NCCL",	  "NODELAY",	 "NONE",       "NOTRACK",
	"NVRM",	   "OFF",	  "ON",	     "OUTPUT",	  "PERFORMANCE", "PHB",	       "PIX",
	"POWER",   "PREROUTING",  "PXB",     "PYTHON",	  "PYTHONHOME",	 "PYTHONPATH", "RANDOM",
	"RANK",	   "REG",	  "REJECT",  "RETURN",	  "SIGBUS",	 "SIGFPE",     "SIGILL",
	"SIGINT",  "SIGQUIT",	  "SIGTERM", "SOCKET",	  "SOURCE",	 "SYS",	       "TAINTS",
	"TARGET",  "TEMPERATURE", "TRACE",   "TRANSPORT", "WARN"};

static bool is_literal(const char *s, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(literal); i++)
		if (strlen(literal[i]) == n && !memcmp(literal[i], s, n))
			return true;
	return false;
}

static bool is_of_word(char c) { return isalnum((unsigned char)c) || (c && strchr("_.+%-", c)); }

/* A variable's name is the left side of what is set; a path may be in capitals. */
static bool is_hole(const char *line, const char *word, size_t n)
{
	char before = word > line ? word[-1] : ' ';

	if (n == 3 && !memcmp(word, "...", n))
		return word > line && isspace((unsigned char)before) && !is_of_word(word[n]);
	for (size_t i = 0; i < n; i++)
		if (!isupper((unsigned char)word[i]) && (word[i] != '-' || !i || i + 1 == n) &&
		    (word[i] != '0' || !i || word[i - 1] != '-')) /* ADDRESS-OF-RANK-0 */
			return false;
	if (n < 2 || word[n] == '=' || is_literal(word, n) || before == '$' ||
	    (before == '{' && word - 1 > line && word[-2] == '$'))
		return false;
	return before != '/' || (word - 1 > line && word[-2] == '/');
}

static bool line_has_hole(const char *line, const char *end)
{
	bool within = false; /* "": what it has is filled in all the same */

	for (const char *p = line; p < end;) {
		const char *from = p;

		if (*p == '"')
			within = !within;
		if (*p == '\\' || (*p == '\'' && !within)) {
			p = line_skip_quoted(p);
			continue;
		}
		while (p < end && is_of_word(*p))
			p++;
		if (p > from && is_hole(line, from, (size_t)(p - from)))
			return true;
		p += p == from;
	}
	return false;
}

bool fix_has_hole(const char *fix)
{
	if (!fix_is_typed(fix) || strstr(fix, "<<")) /* the lines of a file are nobody's words */
		return false;
	while (*fix) {
		const char *remark = line_remark(fix), *end = fix + strcspn(fix, "\n");

		if (line_has_hole(fix, remark < end ? remark : end))
			return true;
		fix = end + (*end == '\n');
	}
	return false;
}

bool fix_is_pasted(const char *fix) { return fix_is_typed(fix) && !fix_has_hole(fix); }

/* --------------------------------------------------------------------------------------------- */

static const char *place(const char *fix, const char *host)
{
	static const char on[] = "# on ";
	const char *remark = line_remark(fix);

	return starts_with(remark, on) ? remark + strlen(on) : host;
}

bool fix_is_same(const char *x, const char *x_host, const char *y, const char *y_host)
{
	static const char ends[] = " ,:;\n";
	const char *at_x = place(x, x_host), *at_y = place(y, y_host);
	const char *run_x = without_sudo(x), *run_y = without_sudo(y);
	size_t n = command_length(run_x), at = strcspn(at_x, ends);

	if (strchr(x, '\n') || strchr(y, '\n')) /* the remark of the first line ends neither */
		return streq(x, y) && streq(x_host, y_host);
	return n == command_length(run_y) && !memcmp(run_x, run_y, n) &&
	       at == strcspn(at_y, ends) && !memcmp(at_x, at_y, at);
}

static bool is_placed(struct arena *a, const char *fix, const char *place)
{
	return starts_with(fix, arena_printf(a, "# %s\n", place)) ||
	       ends_with(fix, arena_printf(a, "# %s", place)) ||
	       ends_with(fix, arena_printf(a, "; %s", place)) ||
	       ends_with(fix, arena_printf(a, "(%s)", place));
}

const char *fix_placed(struct arena *a, const char *fix, const char *place)
{
	if (is_placed(a, fix, place))
		return fix;
	if (!fix_is_typed(fix))
		return arena_printf(a, "%s (%s)", fix, place);
	if (strchr(fix, '\n'))
		return arena_printf(a, "# %s\n%s", place, fix);
	return arena_printf(a, "%s%s%s", fix, *line_remark(fix) ? "; " : "   # ", place);
}

static void number(cJSON *o, cJSON **list, const char *key, size_t i)
{
	*list = *list ?: json_array(o, key);
	cJSON_AddItemToArray(*list, cJSON_CreateNumber((double)i));
}

void fix_json(cJSON *o, const str_list *fixes)
{
	cJSON *all = fixes->n ? json_array(o, "fix") : NULL, *words = NULL, *holes = NULL;

	for (size_t i = 0; i < fixes->n; i++) {
		json_push_str(all, fix_text(fixes->v[i]));
		if (!fix_is_typed(fixes->v[i]))
			number(o, &words, "as_words", i);
		else if (fix_has_hole(fixes->v[i]))
			number(o, &holes, "has_hole", i);
	}
}

static bool has_number(const cJSON *list, size_t number)
{
	const cJSON *x;

	cJSON_ArrayForEach (x, list)
		if (cJSON_IsNumber(x) && x->valuedouble == (double)number)
			return true;
	return false;
}

void fix_from_json(const cJSON *o, struct arena *a, str_list *ret)
{
	const cJSON *words = json_get(o, "as_words"), *fix = json_get(o, "fix");
	size_t i = 0;

	for (fix = cJSON_IsArray(fix) ? fix->child : NULL; fix; fix = fix->next, i++)
		if (cJSON_IsString(fix) && *fix->valuestring)
			*LIST_ADD(a, ret) = arena_printf(
				a, "%s%s", has_number(words, i) ? FIX_WORDS : "", fix->valuestring);
}
