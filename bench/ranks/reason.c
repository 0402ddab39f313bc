#include "bench/ranks/reason.h"

#include "bench/comm/backend.h"
#include "lib/host/nccl_words.h"

#include <string.h>

/* Of ids; and of a sentence with its fix, which leaves room for who said it. */
enum { LONGEST = 32, CARRIED = 320 };
static const char mark[] = "  [fix: ", mark_end[] = "]";

const char *reason_make(struct arena *a, const char *check, const char *sentence, const char *fix)
{
	if (!check)
		return sentence;
	if (!fix || strlen(check) + strlen(sentence) + strlen(fix) > CARRIED)
		return arena_printf(a, "[%s] %s", check, sentence);
	return arena_printf(a, "[%s] %s%s%s%s", check, sentence, mark, fix, mark_end);
}

/* Where the fix begins, all of it or what was left of it; the end of @news where there is none. */
static const char *fix_in(const char *news)
{
	const char *end = news + strlen(news), *at = strstr(news, mark);

	if (at)
		return at;
	for (size_t n = strlen(mark) - 1; n; n--) /* cut in the mark itself */
		if ((size_t)(end - news) >= n && !strncmp(end - n, mark, n))
			return end - n;
	return end;
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
	*ret_told = arena_printf(a, "%.*s%.*s", (int)(id - news), news,
				 (int)(fix_in(id) - (id + 1 + n + 2)), id + 1 + n + 2);
	return arena_strndup(a, id + 1, n);
}

/* "   # on node1" of "rank 1 (node1, 10.0.0.2): ...", behind a command that names no host. */
static const char *where(struct arena *a, const char *news, const char *fix)
{
	const char *host = strchr(news, '(');

	if (words_of(news) == news || strchr(fix, '#') || starts_with(fix, "- "))
		return "";
	return arena_printf(a, "   # on %.*s", (int)strcspn(host + 1, ",)"), host + 1);
}

const char *reason_carried(struct arena *a, const char *news)
{
	const char *told, *check = reason_check(a, news, &told), *at = check ? fix_in(news) : "";
	const char *fix;

	if (!starts_with(at, mark) || !ends_with(at, mark_end) || streq(check, DEV_SICK) ||
	    streq(check, "nccl.gpu"))
		return NULL;
	at += strlen(mark);
	fix = arena_strndup(a, at, strlen(at) - strlen(mark_end));
	return arena_printf(a, "%s%s", fix, where(a, news, fix));
}

const char *reason_fix(const char *check, const char *told)
{
	if (streq(check, DEV_SICK))
		return "dmesg -T | grep -i xid";
	if (streq(check, "nccl.gpu"))
		return COMM_OWN_GPU;
	if (streq(check, DEV_WATCHED))
		return DEV_WATCHED_FIX;
	return starts_with(check, "nccl.") || strstr(told, NCCL_SAYS) ? NCCL_ASK : NULL;
}
