#ifndef LIB_HOST_HOSTNAME_H
#define LIB_HOST_HOSTNAME_H
/*
 * What a host name means on this machine. /etc/hosts is read by ourselves
 * (microseconds, no surprise); the resolver is asked in a child process that
 * is ended at its deadline, because getaddrinfo() may wait for a dead name
 * server far longer than anybody wants to. Under a sysroot only the tree's
 * /etc/hosts is looked at. A run that wants to know a name in several places
 * keeps a name_book, so that a dead name server costs one wait per name.
 */
#include "lib/core/arena.h"
#include "lib/net/addr.h"

enum name_source {
	NAME_UNKNOWN,  /* no answer: see trouble */
	NAME_NUMERIC,  /* read as an address, "05" included (inet_aton: 0.0.0.5) */
	NAME_HOSTS,    /* /etc/hosts, in the order of the file */
	NAME_RESOLVER, /* getaddrinfo(), in its order, /etc/hosts included */
};

struct name_answer {
	addr_list addrs;
	const char *canonical; /* getaddrinfo's canonical name, or NULL */
	enum name_source source;
	const char *trouble; /* why addrs is empty, a sentence's end: "does not resolve: ..." */
	bool timed_out;
	bool unasked; /* this host could not ask, or was interrupted: nothing about the name */
};

/* The first of these that knows: a numeric reading, /etc/hosts. Asks nobody. */
void name_from_hosts(const char *name, struct arena *a, struct name_answer *ret);
/* As getaddrinfo() answers within @deadline_ns (0: 2 s). Never fails; look at trouble. */
void name_resolve(const char *name, uint64_t deadline_ns, struct arena *a, struct name_answer *ret);

struct name_page {
	const char *name;
	struct name_answer got;
};
struct name_book {
	uint64_t deadline_ns; /* of one name, 0: 2 s; a quarter once a name got no answer */
	LIST(struct name_page *) asked;
};
/* As name_resolve(), each name once. The answer lives as long as @a. @b may be NULL. */
const struct name_answer *name_ask(struct name_book *b, const char *name, struct arena *a);

/* Letters, digits, '.', '-' and '_' alone. The kernel takes any bytes as a host name. */
bool name_is_plain(const char *name);

/*
 * For commands that are to be typed: what makes sed take @name off every line of /etc/hosts but
 * remarks, and a line away that has nothing else. In either kind of the shell's quotes.
 */
const char *hosts_without(struct arena *a, const char *name);
/* /etc/hosts; "" where it cannot be read. */
const char *hosts_text(struct arena *a, size_t *ret_n);
/*
 * The parser alone, with glibc's rules: '#' ends a line, blanks separate, the
 * address is strict (no scope, no octal), names compare without case. Adds the
 * addresses of every line that has @name; canonical is the first such line's
 * first name.
 */
void hosts_lookup(const char *text, size_t n, const char *name, struct arena *a,
		  struct name_answer *ret);
#endif
