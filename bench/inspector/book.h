#ifndef BENCH_INSPECTOR_BOOK_H
#define BENCH_INSPECTOR_BOOK_H
/*
 * All lines of all ranks, file after file, in memory that does not grow with them: what each rank
 * was, sums of each kind of collective, and of the collectives themselves one entry each that all
 * ranks' lines come together in. Where there are too many of these, an even choice by the
 * collective's number, which is the same for every rank, so that those chosen stay whole; what took
 * many times as long as usual is kept beside it. Pure.
 *
 *	struct insp_book b = {.a = a};
 *	insp_book_add(&b, &record);		each line, in any order of files
 *	insp_book_close(&b);			sorts; then it may be looked at
 */
#include "bench/inspector/line.h"
#include "lib/core/arena.h"

enum insp_func { /* up to INSP_EVEN: all ranks need all others, and end together */
		 INSP_ALL_REDUCE,
		 INSP_ALL_GATHER,
		 INSP_REDUCE_SCATTER,
		 INSP_ALLTOALL,
		 INSP_ALL_GATHER_V,
		 INSP_EVEN,
		 INSP_BROADCAST = INSP_EVEN,
		 INSP_REDUCE,
		 INSP_OTHER,
		 INSP_COLLS,
		 INSP_SENDRECV = INSP_COLLS,
		 INSP_SEND,
		 INSP_RECV,
		 INSP_FUNCS
};
extern const char *const insp_func_names[INSP_FUNCS];

enum { INSP_MAX = 1 << 20 }; /* entries, 56 bytes each */

struct insp_comm {
	const char *id, *name; /* name: NULL where nobody gave it one */
	uint32_t ranks, hosts, members;
};

struct insp_member { /* a rank of a communicator */
	uint32_t comm, rank, host, process;
	uint64_t lines, last[INSP_COLLS]; /* number of the latest collective, plus one */
	double first_us, last_us, gap_us; /* of lines; and the longest time without one */
};

struct insp_process {
	uint32_t host;
	uint64_t pid;
	double first_us, last_us;
};

struct insp_group { /* collectives of one kind and size in one communicator */
	uint32_t comm, func, size_class;
	uint64_t n; /* lines; entries are from .. to, once the book is closed */
	double sum_us, sum_bytes;
	uint64_t every;			    /* of so many entries one is kept */
	size_t entries, outliers, from, to; /* entries: but outliers */
	float typical_us;		    /* 0: not known yet */
};

struct insp_op { /* one collective */
	uint64_t sn;
	uint32_t group, seen;
	double at_us; /* the earliest line of it */
	/* Times; whose was the shortest came last, and the others waited. */
	float least_us, second_us, elsewhere_us, most_us, sum_us;
	float busbw;   /* of the shortest */
	uint32_t last; /* the member whose it was */
	bool outlier;  /* kept for its length alone */
};

struct insp_map {
	struct insp_slot {
		uint32_t tag, value; /* value: plus one */
	} * slots;
	size_t cap, n;
};

struct insp_file {
	uint64_t device, number;
	uint64_t first, size; /* hash of its first line, 0: it has none; bytes that were read */
};

struct insp_book {
	struct arena *a;
	size_t max; /* entries; 0: INSP_MAX */
	size_t outliers;
	LIST(struct insp_comm) comms;
	LIST(struct insp_member) members;
	LIST(struct insp_process) processes;
	LIST(const char *) hosts;
	LIST(struct insp_group) groups;
	LIST(struct insp_op) ops;
	struct insp_map comm_map, member_map, process_map, host_map, group_map, op_map;
	uint64_t lines, broken, by_cpu, left_out; /* by_cpu: timed by the processor, not used */
	double lost;				  /* by the plug-in itself, before it wrote them */
	double first_us, last_us;
	size_t files;
	LIST(struct insp_file) read; /* each counts once */
};

/* False: there is no more room for another communicator, rank or host. */
bool insp_book_add(struct insp_book *b, const struct insp_record *r);
void insp_book_close(struct insp_book *b);
/* Does a collective of it have a line of every rank whose lines are here? */
bool insp_is_whole(const struct insp_book *b, const struct insp_op *o);

#endif
