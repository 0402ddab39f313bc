/* What lib/cluster/sh/fetch.sh says. It may come from anybody. */
#include "lib/cluster/fetch.h"

#include "lib/core/text.h"

#include <ctype.h>
#include <limits.h>

enum { LINE_MOST = 160, NUMBERS_MOST = 6 };

static const struct {
	const char *word;
	enum frame_kind kind;
	size_t numbers;
	bool has_name;
} kinds[] = {{"file", FRAME_FILE, 6, true},
	     {"folder", FRAME_FOLDER, 2, true},
	     {"absent", FRAME_ABSENT, 1, false},
	     {"closed", FRAME_CLOSED, 2, true},
	     {"end", FRAME_END, 0, false}};

/* "file 0 12 12 1763630010 77 14": the numbers, and nothing else. */
static bool read_numbers(const char *p, uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *end;

		if (*p != ' ' || !isdigit((unsigned char)p[1]))
			return false;
		v[i] = strtoull(p + 1, &end, 10);
		if (v[i] > INT64_MAX)
			return false;
		p = end;
	}
	return !*p;
}

/* Below a folder it must stay there: absolute, without "..", and "." left out. NULL: it is none. */
static const char *safe_name(const char *p, size_t n, struct arena *a)
{
	struct text t;

	if (!n || n >= PATH_MAX || *p != '/' || memchr(p, '\0', n))
		return NULL;
	text_init(&t, a);
	for (const char *end = p + n, *q; p < end; p = q) {
		p++;
		q = memchr(p, '/', (size_t)(end - p)) ?: end;
		if (q - p == 2 && p[0] == '.' && p[1] == '.')
			return NULL;
		if (q == p || (q - p == 1 && *p == '.'))
			continue;
		text_add(&t, "/");
		text_addn(&t, p, (size_t)(q - p));
	}
	return t.n ? t.s : NULL;
}

static bool read_name(const char *text, size_t n, size_t *at, uint64_t length, struct arena *a,
		      struct frame *ret)
{
	if (length >= n - *at || text[*at + length] != '\n')
		return false;
	ret->name = safe_name(text + *at, (size_t)length, a);
	*at += (size_t)length + 1;
	return ret->name;
}

static bool read_data(const char *text, size_t n, size_t *at, const uint64_t *v, struct frame *ret)
{
	ret->size = v[1];
	ret->changed_s = (int64_t)v[3];
	ret->inode = v[4];
	if (v[2] > n - *at || v[2] > v[1])
		return false;
	ret->data = text + *at;
	ret->n = (size_t)v[2];
	*at += ret->n;
	return true;
}

bool frame_next(const char *text, size_t n, size_t *at, size_t nasked, struct arena *a,
		struct frame *ret)
{
	const char *nl = *at < n ? memchr(text + *at, '\n', n - *at) : NULL;
	size_t length = nl ? (size_t)(nl - text) - *at : LINE_MOST;
	uint64_t v[NUMBERS_MOST] = {0};
	char line[LINE_MOST], *numbers;

	if (length >= sizeof(line))
		return false;
	memcpy(line, text + *at, length);
	line[length] = '\0';
	*at += length + 1;
	numbers = line + strcspn(line, " ");
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if ((size_t)(numbers - line) != strlen(kinds[i].word) ||
		    !starts_with(line, kinds[i].word))
			continue;
		*ret = (struct frame){.kind = kinds[i].kind};
		if (!read_numbers(numbers, v, kinds[i].numbers) ||
		    (kinds[i].numbers && v[0] >= nasked))
			return false;
		ret->asked = (size_t)v[0];
		if (kinds[i].has_name && !read_name(text, n, at, v[kinds[i].numbers - 1], a, ret))
			return false;
		return ret->kind != FRAME_FILE || read_data(text, n, at, v, ret);
	}
	return false;
}
