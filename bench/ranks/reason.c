#include "bench/ranks/reason.h"

#include "bench/comm/backend.h"
#include "lib/host/nccl_words.h"

#include <string.h>

enum { LONGEST = 32 }; /* ids */

const char *reason_make(struct arena *a, const char *check, const char *sentence)
{
	return check ? arena_printf(a, "[%s] %s", check, sentence) : sentence;
}

/* Of "[nccl.init] ...": of what is in the brackets. What others print there has no dot: "[0] ...".
 */
static size_t id_length(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789.";
	size_t n = *text == '[' ? strspn(text + 1, letters) : 0;
	bool is_id = n && n <= LONGEST && text[1] >= 'a' && memchr(text + 2, '.', n - 1);

	return is_id && strncmp(text + 1 + n, "] ", 2) == 0 ? n : 0;
}

/* Behind "rank 1 (node1, 10.0.0.2): ", where that is in front: what is said may have another one.
 */
static const char *words_of(const char *news)
{
	static const char end[] = "): ";
	const char *at = starts_with(news, "rank ") ? strchr(news, end[0]) : NULL;

	return at && starts_with(at, end) ? at + strlen(end) : news;
}

const char *reason_essence(const char *news)
{
	const char *words;

	while (news && (words = words_of(news)) != news && starts_with(words, "rank "))
		news = words;
	return news;
}

const char *reason_check(struct arena *a, const char *news, const char **ret_told)
{
	const char *id = words_of(news);
	size_t n = id_length(id);

	*ret_told = news;
	if (!n)
		return NULL;
	*ret_told = arena_printf(a, "%.*s%s", (int)(id - news), news, id + 1 + n + 2);
	return arena_strndup(a, id + 1, n);
}

const char *reason_fix(const char *check, const char *told)
{
	if (streq(check, DEV_SICK))
		return "dmesg -T | grep -i xid";
	if (streq(check, "nccl.gpu"))
		return COMM_OWN_GPU;
	return starts_with(check, "nccl.") || strstr(told, NCCL_SAYS) ? NCCL_ASK : NULL;
}
