/*
 * Any bytes as what NCCL's Inspector recorded, with room for few collectives: what is taken is
 * joined, looked at, judged and written.
 */
#include "bench/inspector/book.c" /* all of it is pure but for reading files */
#include "bench/inspector/late.c"
#include "bench/inspector/line.c"
#include "bench/inspector/look.c"
#include "bench/inspector/map.c"
#include "bench/inspector/read.c"
#include "bench/inspector/say.c"
#include "bench/inspector/say_peers.c"
#include "bench/inspector/say_speed.c"
#include "bench/inspector/say_time.c"
#include "bench/inspector/say_who.c"
#include "bench/inspector/stops.c"
#include "bench/sweep/expect.c"
#include "bench/sweep/expect_gpu.c"
#include "bench/sweep/instances.c"
#include "tests/fuzz/hush.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Asked of a folder's other files; no folder is read here. */
int saved_read(const char *path UNUSED, struct arena *a UNUSED, saved_list *ret UNUSED,
	       struct err *e UNUSED)
{
	abort();
}

static void read_all(struct insp_book *b, const uint8_t *data, size_t n)
{
	AUTO(auto_closep) int fd = memfd_create("lines", MFD_CLOEXEC);
	size_t head = n / 3;
	struct err e = {0};

	if (fd < 0 || write(fd, data + head, n - head) != (ssize_t)(n - head) ||
	    lseek(fd, 0, SEEK_SET) || insp_read_stream(b, fd, (const char *)data, head, &e))
		abort();
}

static void check(const struct insp_book *b)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < b->groups.n; i++)
		lines += b->groups.v[i].n;
	if (lines != b->lines || b->ops.n > b->max)
		abort();
	for (size_t i = 0; i < b->ops.n; i++)
		if (!b->ops.v[i].seen || b->ops.v[i].least_us > b->ops.v[i].most_us ||
		    b->ops.v[i].last >= b->members.n)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	const struct report_opts opts = {.command = "ncclbench", .format = "json", .host = "node0"};
	const struct insp_opts o = {.nic_gbps = n % 2 ? NAN : 100,
				    .instance = n % 3 ? NULL : "p5.48xlarge",
				    .expect_gbps = n % 5 ? 0 : 7};
	struct insp_book b = {.a = &a, .max = 8};
	struct err e = {0};
	struct report *r;
	int code;

	hush();
	(void)insp_kind((const char *)data, n);
	read_all(&b, data, n);
	check(&b);
	if (!b.lines)
		return 0;
	r = report_new(&opts, &e);
	if (!r)
		abort();
	insp_judge(&b, &o, r);
	check(&b);
	code = report_end(r, &e);
	if (code > 1 && code != 3) /* 3: of a line or two nothing is concluded */
		abort();
	return 0;
}
