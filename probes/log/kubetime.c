#include "probes/log/kubetime.h"

#include "lib/core/text.h"
#include "probes/log/said.h"
#include "probes/log/stamp.h"

#include <ctype.h>

enum {
	ITEM = 24,	/* lines between an item's times and its last words, at most */
	LEAST_AGE = 60, /* s; ages that are counted from the newest event differ by little else */
};

long kubetime_duration(const char **at)
{
	static const struct {
		char unit;
		long s;
	} units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
	const char *p = *at;
	long total = 0;

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		char *end;
		long n = isdigit((unsigned char)*p) ? strtol(p, &end, 10) : -1;

		if (n >= 0 && *end == units[i].unit && n < 100000) {
			total += n * units[i].s;
			p = end + 1;
		}
	}
	if (p == *at || !strchr(" \t\r)", *p))
		return 0;
	*at = p;
	return total;
}

/* "4m43s", "4m43s (x93 over 24m)"; NULL where there is none. */
static const char *age_and_times(const char *p, struct happening *ret)
{
	ret->age_s = kubetime_duration(&p);
	if (!ret->age_s)
		return NULL;
	p = said_spaces(p);
	if (!starts_with(p, "(x"))
		return p;
	ret->times = strtol(p + strlen("(x"), NULL, 10);
	p += strcspn(p, ")");
	return *p ? said_spaces(p + 1) : p;
}

/* "Warning  REASON  AGE  FROM  MESSAGE", as kubectl describe has it: once where no count is said.
 */
static bool is_described(const char *warning, struct happening *ret)
{
	*ret = (struct happening){.times = 1};
	return age_and_times(said_next(said_next(warning)), ret) != NULL;
}

/* "...  24m   93   train-0.17a3b2": the end of -o wide. */
static void wide(const char *text, struct happening *ret)
{
	const char *end = text + strlen(text), *words[3];

	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	for (int i = 3; i--;) {
		const char *p = end;

		while (p > text && !isspace((unsigned char)p[-1]))
			p--;
		words[i] = p;
		while (p > text && isspace((unsigned char)p[-1]))
			p--;
		end = p;
	}
	if (kubetime_duration(&words[0]) && words[1][strspn(words[1], "0123456789")] == ' ' &&
	    strchr(words[2], '.'))
		ret->times = strtol(words[1], NULL, 10);
}

/* "4m43s  Warning  REASON  OBJECT  MESSAGE", with a namespace before it or not. */
static bool is_row(const char *text, const char *warning, struct happening *ret)
{
	const char *p = said_spaces(text), *end;

	*ret = (struct happening){0};
	end = age_and_times(p, ret);
	if (!end)
		end = age_and_times(said_next(p), ret);
	if (end != warning)
		return false;
	said_word(ret->object, sizeof(ret->object), said_next(said_next(warning)), " \t\r\n");
	if (!ret->times)
		wide(text, ret);
	return true;
}

void kubetimes_count(struct kubetimes *k, unsigned file, uint64_t line, const struct log_line *l)
{
	long n;

	if (!said_number(l, "ount: ", &n) && !said_number(l, "ount\": ", &n))
		return;
	k->count = n;
	k->count_file = file;
	k->count_line = line;
}

void kubetimes_seen(struct kubetimes *k, struct arena *a, unsigned file, uint64_t line,
		    const struct log_line *l)
{
	const char *p = strstr(l->text, "Time"), *from;
	bool has_count = k->count_file == file && line - k->count_line <= ITEM && k->count > 0;
	struct kubetime *last = k->v.n ? &k->v.v[k->v.n - 1] : NULL;
	enum clock_kind kind = CLOCK_KIND_NONE;
	int64_t ms = 0;

	p = p ? p : strstr(l->text, "time");
	from = p ? strpbrk(p, "0123456789") : NULL;
	if (!from || !stamp_parse(from, &kind, &ms) || kind == CLOCK_KIND_NONE)
		return;
	if (ms > k->newest_ms)
		k->newest_ms = ms;
	/* eventTime and lastTimestamp of one item */
	if (!last || last->file != file || line - last->line > 3) {
		if (k->v.n == KUBETIMES_MAX)
			return;
		last = LIST_ADD(a, &k->v);
	}
	*last = (struct kubetime){file, line, ms, has_count ? k->count : 0};
}

/* What the item says whose lines @line is among. */
static bool is_item(const struct kubetimes *k, unsigned file, uint64_t line, struct happening *ret)
{
	for (size_t i = k->v.n; i--;) {
		const struct kubetime *t = &k->v.v[i];

		if (t->file != file || t->line > line)
			continue;
		if (line - t->line > ITEM)
			return false;
		*ret = (struct happening){.age_s =
						  (long)((k->newest_ms - t->ms) / 1000) + LEAST_AGE,
					  .times = t->times};
		return true;
	}
	return false;
}

bool happening_of(const struct kubetimes *k, unsigned file, uint64_t line, const char *text,
		  struct happening *ret)
{
	const char *warning = strstr(text, "Warning ");

	if (warning && (is_row(text, warning, ret) || is_described(warning, ret)))
		return true;
	return is_item(k, file, line, ret);
}
