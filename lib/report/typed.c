#include "lib/report/typed.h"

#include "lib/core/fix.h"
#include "lib/report/json.h"
#include "lib/report/line.h"

/* Who is root types it without, who reads it of another host types it with it. */
static const char *without_sudo(const char *s) { return s + (starts_with(s, "sudo ") ? 5 : 0); }

static size_t command_length(const char *s)
{
	const char *end = line_remark(s);

	while (end > s && end[-1] == ' ')
		end--;
	return (size_t)(end - s);
}

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

void fix_json(cJSON *o, const str_list *fixes)
{
	cJSON *all = fixes->n ? json_array(o, "fix") : NULL, *words = NULL;

	for (size_t i = 0; i < fixes->n; i++) {
		json_push_str(all, fix_text(fixes->v[i]));
		if (fix_is_typed(fixes->v[i]))
			continue;
		words = words ?: json_array(o, "as_words");
		cJSON_AddItemToArray(words, cJSON_CreateNumber((double)i));
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
