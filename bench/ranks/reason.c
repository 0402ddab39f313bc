#include "bench/ranks/reason.h"

#include <string.h>

static const char said[] = "): ";

const char *reason_make(struct arena *a, const char *check, const char *sentence)
{
	return check ? arena_printf(a, "[%s] %s", check, sentence) : sentence;
}

/* Of "[nccl.init] ...": of what is in the brackets. */
static size_t id_length(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789.";
	size_t n = *text == '[' ? strspn(text + 1, letters) : 0;

	return n && strncmp(text + 1 + n, "] ", 2) == 0 ? n : 0;
}

const char *reason_check(struct arena *a, const char *news, const char **ret_told)
{
	const char *colon = strstr(news, said), *id = colon ? colon + strlen(said) : news;
	size_t n = id_length(id);

	*ret_told = news;
	if (!n)
		return NULL;
	*ret_told = arena_printf(a, "%.*s%s", (int)(id - news), news, id + 1 + n + 2);
	return arena_strndup(a, id + 1, n);
}
