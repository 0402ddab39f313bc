#include "probes/preflight/crew_say.h"

#include "lib/cluster/rdzv_messages.h"
#include "lib/core/text.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

enum {
	DEPTH_MAX = 64,
	PIECE = RDZV_VALUE_MAX,
	SHARED_MAX = 128 << 20, /* of what the rendezvous can keep; the rest is for what is small */
	PIECES_MAX = 16,
};
#define PIECES "pieces "

/* 0 of very many members: what is no longer than a value needs no share. */
static size_t share(size_t members)
{
	size_t pieces = SHARED_MAX / PIECE / (members ? members : 1);

	return pieces < PIECES_MAX ? pieces : PIECES_MAX;
}

static const char *key_of_piece(struct arena *a, const char *key, size_t i)
{
	return arena_printf(a, "%s/%zu", key, i);
}

/* The leader begins to read when the last of it is there. */
static int say_in_pieces(struct rdzv *r, const char *key, const char *text, size_t n, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *head;
	size_t i = 0;

	for (size_t at = 0; at < n; at += PIECE, i++)
		if (rdzv_set(r, key_of_piece(&a, key, i), text + at,
			     n - at < PIECE ? n - at : PIECE, e))
			return -1;
	head = arena_printf(&a, PIECES "%zu", i);
	return rdzv_set(r, key, head, strlen(head), e);
}

int crew_say(struct rdzv *r, const char *key, const cJSON *doc, size_t members, struct err *e)
{
	char *text = doc ? cJSON_PrintUnformatted(doc) : NULL;
	size_t n = text ? strlen(text) : 0;
	int rc;

	if (n <= PIECE)
		rc = rdzv_set(r, key, text ? text : "", n, e);
	else if (n <= share(members) * PIECE)
		rc = say_in_pieces(r, key, text, n, e);
	else
		rc = rdzv_set(r, key, "", 0, e);
	cJSON_free(text);
	return rc;
}

static int hear_pieces(struct rdzv *r, const char *key, uint64_t pieces, struct text *to,
		       struct err *e)
{
	const void *piece;
	size_t n;

	for (size_t i = 0; i < pieces; i++) {
		if (rdzv_get(r, key_of_piece(to->a, key, i), to->a, &piece, &n, e))
			return -1;
		text_addn(to, piece, n);
	}
	return 0;
}

int crew_listen(struct rdzv *r, const char *key, cJSON **ret, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	struct err unread = {0};
	const void *value;
	struct text t;
	uint64_t pieces;
	size_t n;

	*ret = NULL;
	if (rdzv_get(r, key, &a, &value, &n, e))
		return -1;
	text_init(&t, &a);
	text_addn(&t, value, n);
	if (starts_with(t.s, PIECES)) {
		if (parse_uint(t.s + strlen(PIECES), &pieces) || pieces > PIECES_MAX)
			return 0;
		text_init(&t, &a);
		if (hear_pieces(r, key, pieces, &t, e))
			return -1;
	}
	*ret = t.n ? json_parse(t.s, t.n, DEPTH_MAX, &unread) : NULL;
	return 0;
}
