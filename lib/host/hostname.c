#include "lib/host/hostname.h"
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/core/wait.h"
#include "lib/host/sysroot.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <strings.h>
#include <sys/prctl.h>

enum { HOSTS_MAX = 4 << 20, ANSWERS = 32 };
#define DEADLINE_NS (2 * NS_PER_S)

/* --- /etc/hosts ------------------------------------------------------------ */
struct word {
	const char *s;
	size_t n;
};

static bool next_word(const char **at, const char *end, struct word *ret)
{
	static const char blanks[] = " \t\r\v\f";
	const char *p = *at;

	while (p < end && *p && strchr(blanks, *p))
		p++;
	ret->s = p;
	while (p < end && *p && !strchr(blanks, *p))
		p++;
	ret->n = (size_t)(p - ret->s);
	*at = p;
	return ret->n > 0;
}

static bool word_is(const struct word *w, const char *name, size_t n)
{
	return w->n == n && strncasecmp(w->s, name, n) == 0;
}

static bool word_addr(const struct word *w, union addr *ret)
{
	char buf[INET6_ADDRSTRLEN];

	*ret = (union addr){0};
	if (w->n >= sizeof(buf))
		return false;
	memcpy(buf, w->s, w->n);
	buf[w->n] = '\0';
	ret->sa.sa_family = AF_INET;
	if (inet_pton(AF_INET, buf, &ret->v4.sin_addr) == 1)
		return true;
	ret->sa.sa_family = AF_INET6;
	return inet_pton(AF_INET6, buf, &ret->v6.sin6_addr) == 1;
}

static void add_addr(struct name_answer *ret, struct arena *a, const union addr *addr)
{
	for (size_t i = 0; i < ret->addrs.n; i++)
		if (addr_equal(&ret->addrs.v[i], addr))
			return;
	*LIST_ADD(a, &ret->addrs) = *addr;
}

static void lookup_line(const char *at, const char *end, const char *name, size_t name_n,
			struct arena *a, struct name_answer *ret)
{
	struct word addr_word, first, w;
	union addr addr;
	bool mine;

	if (!next_word(&at, end, &addr_word) || !next_word(&at, end, &first))
		return;
	mine = word_is(&first, name, name_n);
	while (!mine && next_word(&at, end, &w))
		mine = word_is(&w, name, name_n);
	if (!mine || !word_addr(&addr_word, &addr))
		return;
	if (!ret->canonical)
		ret->canonical = arena_strndup(a, first.s, first.n);
	add_addr(ret, a, &addr);
}

void hosts_lookup(const char *text, size_t n, const char *name, struct arena *a,
		  struct name_answer *ret)
{
	const char *end = text + n;
	size_t name_n = strlen(name);

	for (const char *line = text, *eol; name_n && line < end; line = eol + 1) {
		const char *hash;

		eol = memchr(line, '\n', (size_t)(end - line));
		if (!eol)
			eol = end;
		hash = memchr(line, '#', (size_t)(eol - line));
		lookup_line(line, hash ? hash : eol, name, name_n, a, ret);
		if (eol == end)
			break;
	}
	if (ret->addrs.n)
		ret->source = NAME_HOSTS;
}

/* --- without asking anybody ------------------------------------------------- */
static bool numeric(const char *name, struct arena *a, struct name_answer *ret)
{
	union addr addr = {0};

	if (!strpbrk(name, " \t\n") && inet_aton(name, &addr.v4.sin_addr)) {
		addr.sa.sa_family = AF_INET;
	} else if (name[0] == '[' || addr_parse(name, &addr) < 0) {
		return false;
	}
	ret->source = NAME_NUMERIC;
	ret->canonical = arena_strdup(a, name);
	add_addr(ret, a, &addr);
	return true;
}

const char *hosts_text(struct arena *a, size_t *ret_n)
{
	struct err ignored = {0};
	char *text;

	*ret_n = 0;
	return file_read(sysroot_path(a, "/etc/hosts"), HOSTS_MAX, a, &text, ret_n, &ignored)
		       ? ""
		       : text;
}

void name_from_hosts(const char *name, struct arena *a, struct name_answer *ret)
{
	const char *text;
	size_t n;

	*ret = (struct name_answer){0};
	if (numeric(name, a, ret))
		return;
	text = hosts_text(a, &n);
	hosts_lookup(text, n, name, a, ret);
	if (!ret->addrs.n)
		ret->trouble = "is not in /etc/hosts";
}

/* --- the resolver, in a child ------------------------------------------------ */
struct wire { /* one write, below PIPE_BUF */
	int gai, error;
	size_t n;
	char canonical[256];
	union addr v[ANSWERS];
};

static void ask(const char *name, struct wire *w)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_CANONNAME},
			*list = NULL;

	w->gai = getaddrinfo(name, NULL, &hints, &list);
	w->error = errno;
	if (w->gai)
		return;
	if (list->ai_canonname)
		snprintf(w->canonical, sizeof(w->canonical), "%s", list->ai_canonname);
	for (struct addrinfo *i = list; i && w->n < ANSWERS; i = i->ai_next)
		if (i->ai_addrlen <= sizeof(w->v[0]))
			memcpy(&w->v[w->n++], i->ai_addr, i->ai_addrlen);
	freeaddrinfo(list);
}

enum waited { CAME, LATE, DIED };

static enum waited wait_answer(int fd, uint64_t deadline_ns, struct wire *w)
{
	uint64_t end = now_ns() + deadline_ns;

	for (int ms; !interrupt_pending() && (ms = ms_until(end));) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (poll(&p, 1, ms) > 0)
			return read(fd, w, sizeof(*w)) == (ssize_t)sizeof(*w) ? CAME : DIED;
	}
	return LATE;
}

static void answer_from_wire(const struct wire *w, struct arena *a, struct name_answer *ret)
{
	if (w->gai) {
		ret->trouble = arena_printf(a, "does not resolve: %s",
					    w->gai == EAI_SYSTEM ? strerror(w->error)
								 : gai_strerror(w->gai));
		return;
	}
	ret->source = NAME_RESOLVER;
	if (w->canonical[0])
		ret->canonical = arena_strdup(a, w->canonical);
	for (size_t i = 0; i < w->n && i < ANSWERS; i++)
		add_addr(ret, a, &w->v[i]);
}

static void judge_silence(enum waited how, uint64_t deadline_ns, struct arena *a,
			  struct name_answer *ret)
{
	struct unit_buf b;

	if (how == LATE && interrupt_pending()) {
		ret->unasked = true;
		ret->trouble = "was not looked up to the end: interrupted";
		return;
	}
	ret->timed_out = how == LATE;
	ret->trouble = how == LATE
			       ? arena_printf(a, "got no answer from the resolver within %s",
					      format_duration(&b, deadline_ns))
			       : "could not be looked up: the resolver crashed here (a module that "
				 "/etc/nsswitch.conf names?)";
}

/* Without a child there is nobody whose deadline could be kept: what needs no waiting is left. */
static void do_without_child(const char *name, struct arena *a, struct name_answer *ret)
{
	struct err e = {0};

	err_fork(&e, "could not be looked up");
	name_from_hosts(name, a, ret);
	if (ret->addrs.n)
		return;
	ret->unasked = true;
	ret->trouble = arena_printf(a, "%s%s%s", e.msg, *e.hint ? ": " : "", e.hint);
}

/* A server that is dead is not waited for when nobody is there any more who asked. */
static _Noreturn void be_child(const char *name, int to, pid_t parent)
{
	struct wire w = {0};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	ask(name, &w);
	_exit(write(to, &w, sizeof(w)) == (ssize_t)sizeof(w) ? 0 : 1);
}

static void ask_in_child(const char *name, uint64_t deadline_ns, struct arena *a,
			 struct name_answer *ret)
{
	struct wire w = {0};
	enum waited how;
	pid_t parent = getpid(), pid;
	int fds[2];

	if (pipe(fds) < 0) {
		do_without_child(name, a, ret);
		return;
	}
	pid = fork();
	if (pid == 0)
		be_child(name, fds[1], parent);
	if (pid < 0)
		do_without_child(name, a, ret);
	(void)close(fds[1]);
	how = pid < 0 ? LATE : wait_answer(fds[0], deadline_ns, &w);
	(void)close(fds[0]);
	if (pid < 0)
		return;
	if (how == CAME)
		answer_from_wire(&w, a, ret);
	else
		judge_silence(how, deadline_ns, a, ret);
	(void)kill(pid, SIGKILL);
	(void)wait_child(pid);
}

void name_resolve(const char *name, uint64_t deadline_ns, struct arena *a, struct name_answer *ret)
{
	if (!sysroot_is_real()) {
		name_from_hosts(name, a, ret);
		return;
	}
	*ret = (struct name_answer){0};
	ask_in_child(name, deadline_ns ? deadline_ns : DEADLINE_NS, a, ret);
}

/* A name server that is dead for one name is dead for the next one, too. */
static uint64_t patience(const struct name_book *b)
{
	uint64_t all = b && b->deadline_ns ? b->deadline_ns : DEADLINE_NS;

	for (size_t i = 0; b && i < b->asked.n; i++)
		if (b->asked.v[i]->got.timed_out)
			return all / 4 + 1;
	return all;
}

const struct name_answer *name_ask(struct name_book *b, const char *name, struct arena *a)
{
	struct name_page *page;

	for (size_t i = 0; b && i < b->asked.n; i++)
		if (streq(b->asked.v[i]->name, name))
			return &b->asked.v[i]->got;
	page = ARENA_NEW(a, struct name_page);
	page->name = arena_strdup(a, name);
	name_resolve(name, patience(b), a, &page->got);
	if (b)
		*LIST_ADD(a, &b->asked) = page;
	return &page->got;
}

bool name_is_plain(const char *name)
{
	return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789.-_")];
}

const char *hosts_without(struct arena *a, const char *name)
{
	return arena_printf(a,
			    "/^[^#]/{s/[[:space:]]%s\\([[:space:]]\\|$\\)/\\1/g;"
			    "/^[^[:space:]]*[[:space:]]*$/d;}",
			    name);
}
