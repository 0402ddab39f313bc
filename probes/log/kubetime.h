#ifndef PROBES_LOG_KUBETIME_H
#define PROBES_LOG_KUBETIME_H
/*
 * How old an event of Kubernetes is, and how often it came, in the forms that kubectl prints:
 * describe, the tables of "get events" (-o wide, -A) and of "events", and the items of -o yaml and
 * -o json, whose times and count stand in lines of their own. Bounded: of items that come after
 * KUBETIMES_MAX no times are known.
 */
#include "lib/core/arena.h"
#include "probes/log/line.h"

enum { KUBETIMES_MAX = 4096 };

struct kubetime {
	unsigned file;
	uint64_t line;
	int64_t ms; /* when it was last seen */
	long times; /* 0: not said */
};

struct kubetimes {
	LIST(struct kubetime) v;
	int64_t newest_ms;
	/* the count that the item under way began with */
	unsigned count_file;
	uint64_t count_line;
	long count;
};

struct happening {
	long age_s;
	long times;	  /* 0: not said */
	char object[128]; /* "pod/train-0"; "": not said */
};

/* "4m43s", "22m", "1d2h" in seconds; 0, and *at untouched, where there is none. */
long kubetime_duration(const char **at);
/* Of an item: "count: 93", "lastTimestamp: "2024-05-02T10:18:40Z"". */
void kubetimes_count(struct kubetimes *k, unsigned file, uint64_t line, const struct log_line *l);
void kubetimes_seen(struct kubetimes *k, struct arena *a, unsigned file, uint64_t line,
		    const struct log_line *l);
/* False where the line is no event, or its age is not known. */
bool happening_of(const struct kubetimes *k, unsigned file, uint64_t line, const char *text,
		  struct happening *ret);

#endif
