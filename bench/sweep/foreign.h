#ifndef BENCH_SWEEP_FOREIGN_H
#define BENCH_SWEEP_FOREIGN_H
/*
 * What other people's tests of a network wrote: perftest (ib_write_bw, ib_send_lat ...), iperf3 as
 * text and as JSON, the OSU micro-benchmarks. They measure a link, or MPI over it, and not NCCL:
 * what they show is held against the rate of the card, and what to measure next is said.
 */
#include "bench/sweep/saved.h"

#include <cjson/cJSON.h>

struct foreign {
	enum foreign_by { BY_PERFTEST, BY_IPERF, BY_OSU } by;
	const char *test;   /* as it calls itself: "RDMA_Write BW Test" */
	bool is_latency;    /* of all columns the one that is read is microseconds */
	bool is_collective; /* of many ranks, not of two */
	bool both_ways;	    /* bandwidth of both directions, added up */
	double bytes, gbps; /* Gb/s, where it was best; of a time at which size */
	double us;	    /* the least */
	double least;	    /* the smallest size that was sent */
	double resent;	    /* segments; NAN: not known */
	double lost;	    /* the share of UDP's datagrams; NAN: not known */
	int streams;	    /* of TCP, at the same time; 0: not said */
	bool is_threaded;   /* each of them by a processor of its own */
	bool is_udp;
	bool is_broken;	      /* it did not come to its end */
	const char *unjudged; /* why the figure says nothing of the card; NULL */
};

/* Adds what @text has of them; it is not changed. */
void foreign_tables(const char *text, struct arena *a, saved_list *ret);
/* The same of iperf3's JSON; false: it is something else. */
bool foreign_json(const cJSON *doc, struct arena *a, saved_list *ret);
/* iperf3 --json-stream, a line for each event; false: it has no end yet. */
bool foreign_is_stream(const char *text);
bool foreign_stream(const char *text, size_t n, struct arena *a, saved_list *ret);
void foreign_judge(const struct foreign *f, const char *subject, const struct saved_opts *o,
		   struct report *r);

#endif
