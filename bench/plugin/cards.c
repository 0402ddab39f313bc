#include "bench/plugin/cards.h"

const char *plugin_check;
const char *plugin_failed_check(void) { return plugin_check; }

struct card card_of(const struct comm_world *w)
{
	struct card c = {.place = comm_place_here(w->host)};
	struct addr_text text;

	(void)snprintf(c.address, sizeof(c.address), "%s", addr_print(&w->at, &text));
	return c;
}

const char *cards_name(const struct cards *c, int rank, char *buf, size_t n)
{
	const struct card *k = &c->all[rank];

	(void)snprintf(buf, n, "rank %d (%s, %s)", rank, k->place.host, k->address);
	return buf;
}

static void end_texts(struct card *k)
{
	char *texts[] = {k->address, k->device, k->version, k->unique};

	comm_place_end(&k->place);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		texts[i][sizeof(k->address) - 1] = '\0';
	k->trouble[sizeof(k->trouble) - 1] = '\0';
	k->bus[sizeof(k->bus) - 1] = '\0';
}

static int judge(const struct cards *c, const char *library, int *ret_culprit, struct err *e)
{
	char who[192], first[192];

	for (int r = 0; r < c->size; r++)
		if (*c->all[r].trouble) {
			*ret_culprit = r;
			return err_set(e, ERR_ABSENT, "%s: %s", cards_name(c, r, who, sizeof(who)),
				       c->all[r].trouble);
		}
	for (int r = 1; r < c->size; r++)
		if (!streq(c->all[r].version, c->all[0].version)) {
			plugin_check = "comm.version";
			err_set(e, ERR_SYS, "%s has %s %s, but %s has %s",
				cards_name(c, r, who, sizeof(who)), library, c->all[r].version,
				cards_name(c, 0, first, sizeof(first)), c->all[0].version);
			return err_hint(e,
					"install the same %s everywhere: ranks of different "
					"versions hang or fail in ways that name no version",
					library);
		}
	return 0;
}

int cards_exchange(struct cards *c, const struct comm_world *w, const struct card *own,
		   const char *library, int *ret_culprit, struct err *e)
{
	*c = (struct cards){.rank = w->rank, .size = w->size};
	c->all = calloc((size_t)w->size, sizeof(*c->all));
	c->peers = calloc((size_t)w->size, sizeof(*c->peers));
	if (!c->all || !c->peers)
		return err_sys(e, "no memory for %d ranks", w->size);
	if (w->exchange(w->arg, own, sizeof(*own), c->all, e))
		return -1;
	for (int r = 0; r < w->size; r++) {
		struct card *k = &c->all[r];

		end_texts(k);
		c->peers[r] = (struct comm_peer){.host = k->place.host,
						 .address = k->address,
						 .device = *k->device ? k->device : NULL,
						 .bus = *k->bus ? k->bus : NULL,
						 .gpu = k->gpu,
						 .pid = (int)k->place.pid};
	}
	for (int r = 0; r < w->size; r++)
		c->peers[r].same_machine =
			comm_place_is_beside(&c->all[r].place, &c->all[w->rank].place);
	return judge(c, library, ret_culprit, e);
}

static bool has_one_memory(const struct card *x, const struct card *y)
{
	return *x->unique && streq(x->unique, y->unique);
}

static bool shares_card(const struct card *x, const struct card *y)
{
	return has_one_memory(x, y) ||
	       (*x->bus && streq(x->bus, y->bus) && comm_place_is_beside(&x->place, &y->place));
}

int cards_twin(const struct cards *c, int rank)
{
	for (int r = 0; r < rank; r++)
		if (shares_card(&c->all[r], &c->all[rank]))
			return r;
	return -1;
}

unsigned cards_sharers(const struct cards *c, int rank)
{
	unsigned n = 0;

	for (int r = 0; r < c->size; r++)
		n += r == rank || shares_card(&c->all[r], &c->all[rank]);
	return n;
}

unsigned cards_in_memory(const struct cards *c, int rank)
{
	unsigned n = 0;

	for (int r = 0; r < c->size; r++)
		n += r == rank || has_one_memory(&c->all[r], &c->all[rank]);
	return n;
}

void cards_done(struct cards *c)
{
	free(c->all);
	free(c->peers);
	*c = (struct cards){0};
}
