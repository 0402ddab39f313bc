#ifndef LIB_CLUSTER_FETCH_H
#define LIB_CLUSTER_FETCH_H
/*
 * Files that lie on many hosts, each in a folder of its own host, brought here: into
 * FOLDER/HOST/path/of/it. Nothing of ours is needed there, only sh and what every system has.
 * Bounded: of what is larger than its share of a host's bytes the beginning and the end come.
 */
#include "lib/cluster/hostlist.h"

enum { FETCH_FILES = 4096 /* of one host */, FETCH_DEPTH = 16 /* folders */ };

struct fetch_opts {
	const char *rsh;
	uint64_t deadline_ns;	     /* of one host: the longest silence; 0: 30 s */
	size_t max_bytes;	     /* of one host; 0: 16 MiB, and less where there are many */
	const char *folder;	     /* here, that is there and has nothing of these hosts */
	const char *const *left_out; /* ends of names in folders ("... .pt"), NULL-ended, or NULL */
};

struct fetched_file {
	const char *path;   /* here */
	const char *name;   /* there */
	size_t asked;	    /* which of those that were asked for it is, or is in */
	uint64_t size, got; /* bytes there, and here */
	const char *others; /* host that had the same file before, of a shared folder; NULL: none */
	bool is_folder;	    /* asked for by itself; path is where its files are */
};

struct fetched {
	const char *host;
	const char *trouble, *fix; /* nothing came; NULL: something did */
	bool started, interrupted;
	bool is_cut; /* more would have come */
	LIST(struct fetched_file) files;
	LIST(size_t) absent; /* of what was asked for: nothing there is called so */
	str_list closed;     /* names that could not be read there */
	str_list misnamed;   /* names that no file can have here: too long, or below a file */
};

/*
 * @asked: names and patterns ("/tmp/nccl_trace_rank_*"), which each host expands for itself;
 * relative ones begin in our folder, if a host has it, else in the home folder. @ret: one for each
 * host, in @a.
 */
int fetch_files(const host_list *hosts, const str_list *asked, const struct fetch_opts *o,
		struct arena *a, struct fetched **ret, struct err *e) MUST_CHECK;

/* --- between fetch.c and fetch_frames.c ---------------------------------------------------- */
struct frame {
	enum frame_kind {
		FRAME_FILE,
		FRAME_FOLDER,
		FRAME_ABSENT,
		FRAME_CLOSED,
		FRAME_END,
	} kind;
	size_t asked;
	uint64_t size;
	int64_t changed_s; /* since 1970; 0: not known */
	uint64_t inode;	   /* 0: not known */
	const char *name;  /* in the arena, and of a form that can be put below a folder */
	const char *data;
	size_t n;
};
/* The next of what a host said, from *@at on, which goes behind it; false: there is no more, or it
 * is none. @nasked: how many were asked for. */
bool frame_next(const char *text, size_t n, size_t *at, size_t nasked, struct arena *a,
		struct frame *ret);

#endif
