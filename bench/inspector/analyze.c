#include "bench/inspector/analyze.h"

#include "bench/inspector/inspector.h"
#include "bench/sweep/ask_hosts.h"
#include "bench/sweep/saved.h"
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/packed.h"
#include "lib/flight/flight.h"

#include <math.h>

struct found {
	struct insp_book book;
	saved_list saved;
};

static void keep(saved_list *all, const saved_list *l, struct arena *a)
{
	for (size_t i = 0; i < l->n; i++)
		*LIST_ADD(a, all) = l->v[i];
}

/* What comes only once: how it begins says what it is. */
static int read_stream(struct found *f, const char *path, struct arena *a, struct err *e)
{
	AUTO_CLOSE int fd = file_open_stream(path, e);
	const char *head;
	saved_list l;
	size_t n;

	if (fd < 0 || insp_head(fd, path, a, &head, &n, e))
		return -1;
	if (packed_begins(head, n))
		return insp_refuse_packed(packed_begins(head, n), "-", e);
	if (flight_begins(head, n))
		return insp_refuse_dump(path, "is a dump", a, e);
	if (insp_kind(head, n) == INSP_JSON)
		return insp_read_stream(&f->book, fd, head, n, e);
	if (saved_read_on(fd, path, head, n, a, &l, e))
		return -1;
	keep(&f->saved, &l, a);
	return 0;
}

static int read_path(struct found *f, const char *path, struct arena *a, struct err *e)
{
	bool recorded = false;
	saved_list l;

	if (file_is_stream(path))
		return read_stream(f, path, a, e);
	if (insp_knows(path, &recorded, e))
		return -1;
	if (recorded)
		return insp_read(&f->book, path, e);
	if (saved_read(path, a, &l, e))
		return -1;
	keep(&f->saved, &l, a);
	return 0;
}

static void judge(const struct insp_opts *o, struct found *f, struct report *r)
{
	const struct saved_opts saved = {.nic_gbps = o->nic_gbps,
					 .instance = o->instance,
					 .expect_gbps = o->expect_gbps,
					 .expect_share = o->expect_share};

	if (f->saved.n)
		saved_judge(&f->saved, &saved, r);
	if (f->book.lines)
		insp_judge(&f->book, o, r);
}

static int read_limits(const struct asked *q, struct arena *a, struct insp_opts *ret, struct err *e)
{
	struct verdict_opts limits = {0};

	*ret = (struct insp_opts){.nic_gbps = NAN};
	if ((q->expect && ask_expect(q->expect, &limits, e)) ||
	    (q->nic && ask_nic(q->nic, &ret->nic_gbps, e)) ||
	    (q->instance && ask_instance(q->instance, a, &ret->instance, e)))
		return -1;
	ret->expect_gbps = limits.expect_gbps;
	ret->expect_share = limits.expect_share;
	return 0;
}

int analyze(const struct asked *q, struct arena *a, struct report *r, struct err *e)
{
	struct found f = {.book.a = a};
	struct insp_opts limits;

	if (read_limits(q, a, &limits, e))
		return -1;
	for (size_t i = 0; i < q->analyze.n; i++)
		if (read_path(&f, q->analyze.v[i], a, e) || interrupt_err(e))
			return -1;
	if (f.book.files && !f.book.lines && !f.saved.n) {
		err_set(e, ERR_USAGE, "%s has no whole line of NCCL's Inspector", q->analyze.v[0]);
		return err_hint(e, "a line is whole once NCCL wrote the next: let it run a little");
	}
	judge(&limits, &f, r);
	return 0;
}
