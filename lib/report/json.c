#include "lib/report/json.h"

#include <limits.h>
#include <math.h>

static void add(cJSON *object, const char *key, cJSON *item)
{
	AUTO(arena_done) struct arena a = {0};

	if (!cJSON_AddItemToObject(object, utf8_mend(&a, key), item))
		cJSON_Delete(item);
}

static cJSON *string(const char *value)
{
	AUTO(arena_done) struct arena a = {0};

	return cJSON_CreateString(utf8_mend(&a, value));
}

void json_str(cJSON *object, const char *key, const char *value)
{
	if (value)
		add(object, key, string(value));
}

void json_num(cJSON *object, const char *key, double value)
{
	if (isfinite(value))
		add(object, key, cJSON_CreateNumber(value));
}

void json_bool(cJSON *object, const char *key, bool value)
{
	add(object, key, cJSON_CreateBool(value));
}

void json_push_str(cJSON *array, const char *value) { cJSON_AddItemToArray(array, string(value)); }

cJSON *json_object(cJSON *object, const char *key)
{
	cJSON *v = cJSON_CreateObject();

	add(object, key, v);
	return v;
}

void json_push_word(cJSON *array, const char *value)
{
	cJSON_AddItemToArray(array, cJSON_CreateStringReference(value));
}

cJSON *json_array(cJSON *object, const char *key)
{
	cJSON *v = cJSON_CreateArray();

	add(object, key, v);
	return v;
}

cJSON *json_push_object(cJSON *array)
{
	cJSON *v = cJSON_CreateObject();

	cJSON_AddItemToArray(array, v);
	return v;
}

const cJSON *json_get(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

const char *json_get_str(const cJSON *object, const char *key)
{
	const cJSON *v = json_get(object, key);

	return cJSON_IsString(v) ? v->valuestring : NULL;
}

const char *json_text(const cJSON *object, const char *key)
{
	return json_get_str(object, key) ?: "";
}

const char *json_copy(struct arena *a, const cJSON *object, const char *key)
{
	const char *s = json_get_str(object, key);

	return s ? arena_strdup(a, s) : NULL;
}

double json_get_num(const cJSON *object, const char *key, double otherwise)
{
	const cJSON *v = json_get(object, key);

	return cJSON_IsNumber(v) ? v->valuedouble : otherwise;
}

int json_get_int(const cJSON *object, const char *key, int otherwise)
{
	double v = json_get_num(object, key, NAN);

	return v >= INT_MIN && v <= INT_MAX && v == (int)v ? (int)v : otherwise;
}

uint64_t json_get_count(const cJSON *object, const char *key, uint64_t otherwise)
{
	double v = json_get_num(object, key, NAN);

	return v >= 0 && v < 0x1p64 && v == (double)(uint64_t)v ? (uint64_t)v : otherwise;
}

size_t json_span(const char *text, size_t n, size_t max_depth)
{
	size_t depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < n; i++) {
		char c = text[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '{' || c == '['))
			depth++;
		else if (!quoted && (c == '}' || c == ']') && depth)
			depth--;
		if (depth > max_depth)
			return 0;
		if (!depth)
			return i ? i + 1 : 0;
	}
	return 0;
}

/* As the parser does: a byte order mark, and whatever is not above a blank. */
static size_t count_blank(const char *text, size_t n)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t i = n >= sizeof(mark) - 1 && !memcmp(text, mark, sizeof(mark) - 1) ? 3 : 0;

	while (i < n && (unsigned char)text[i] <= ' ')
		i++;
	return i;
}

/* The parser recurses, ends at a NUL and would keep broken UTF-8: none of it is left to it. */
cJSON *json_parse(const char *text, size_t n, size_t max_depth, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *copy, *end = NULL;
	const size_t blank = count_blank(text, n), text_n = strnlen(text, n);
	cJSON *v;

	if (text_n < n) {
		err_set(e, ERR_SYS, "not JSON: wrong at byte %zu", text_n);
		return NULL;
	}
	if (blank < n && (text[blank] == '{' || text[blank] == '[') &&
	    !json_span(text + blank, n - blank, max_depth)) {
		err_set(e, ERR_SYS, "not JSON, or cut off, or nested deeper than %zu", max_depth);
		return NULL;
	}
	copy = utf8_mend(&a, arena_strndup(&a, text, n));
	v = cJSON_ParseWithOpts(copy, &end, 1);
	if (!v)
		err_set(e, ERR_SYS, "not JSON: wrong at byte %zu",
			end ? (size_t)(end - copy) : (size_t)0);
	return v;
}

int json_each(const char *text, size_t n, size_t max_depth,
	      bool (*take)(void *arg, const cJSON *doc), void *arg, size_t *ret_n, struct err *e)
{
	size_t span;

	for (*ret_n = 0;; text += span, n -= span) {
		bool goes_on;
		cJSON *doc;

		for (; n && memchr(" \t\r\n", *text, 4); text++)
			n--;
		if (!n)
			return 0;
		span = json_span(text, n, max_depth);
		span = span ? span : n;
		doc = json_parse(text, span, max_depth, e);
		if (!doc)
			return -1;
		++*ret_n;
		goes_on = take(arg, doc);
		cJSON_Delete(doc);
		if (!goes_on)
			return 0;
	}
}
