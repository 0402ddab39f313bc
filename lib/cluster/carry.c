/* What --copy-self has brought to hosts for a whole run, and how it is found there. */
#include "lib/cluster/carry.h"

#include "lib/cluster/launch_agents.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/text.h"
#include "lib/core/wait.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <sys/socket.h>

#define CARRIED "WINDSOCK_CARRIED" /* ID SUM: of the run, of what it carries */
#define PATIENCE "3"		   /* seconds, with a folder there */
enum { ID_BYTES = 16, ID_CHARS = 2 * ID_BYTES };

static const char answers[] =
#include "gen/sh/answers.h"
	;
static const char carried[] =
#include "gen/sh/carried.h"
	;

const char *carry_answers(struct arena *a)
{
	return arena_printf(a, "patience=" PATIENCE " dead='" TROUBLE_DEAD "'; %s", answers);
}

static bool is_hex(const char *s, size_t n) { return strspn(s, "0123456789abcdef") == n; }

const char *carry_look(struct arena *a, const char *name, const char *args)
{
	const char *set = getenv(CARRIED), *sum = set ? strchr(set, ' ') : NULL;

	if (!sum || sum - set != ID_CHARS || !is_hex(set, ID_CHARS) ||
	    strlen(++sum) != PARCEL_SUM - 1 || !is_hex(sum, PARCEL_SUM - 1))
		return "";
	return arena_printf(a,
			    "r=windsock.%.*s.$(uname -n); k=${XDG_CACHE_HOME:-$HOME/.cache}/"
			    "windsock/%s; n=%s; %s%scarried %s; ",
			    ID_CHARS, set, sum, name, carry_answers(a), carried, args);
}

const char *carry_advice(struct arena *a, const char *line, const char *rsh, const char *hosts)
{
	return arena_printf(a, "%s --copy-self   # brings it along",
			    typed_for(a, line, rsh, hosts));
}

/* ---- what the process that holds them has to say ---- */
/* As many texts as that, or until it is gone, or we are to end: how many did not come. */
static size_t hear(int fd, size_t texts, struct text *t)
{
	char buf[4096];

	while (texts && interrupt_poll(fd, POLLIN, -1)) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		for (ssize_t i = 0; i < n; i++)
			texts -= texts && !buf[i];
		text_addn(t, buf, n > 0 ? (size_t)n : 0);
	}
	return texts;
}

/* The next of them; NULL: it was empty, or did not come. */
static const char *next_text(const struct text *t, size_t *at)
{
	const char *s = t->s + *at;

	if (*at >= t->n || !memchr(s, '\0', t->n - *at))
		return NULL;
	*at += strlen(s) + 1;
	return *s ? s : NULL;
}

static int take(struct carry *c, const struct text *said, size_t unsaid, struct err *e)
{
	size_t at = 0;
	const char *wrong = next_text(said, &at), *hint = next_text(said, &at);

	if (wrong) {
		err_set(e, ERR_SYS, "%s", wrong);
		return hint ? err_take_fix(e, hint) : -1;
	}
	for (size_t i = 0; i < c->n; i++) {
		c->hosts[i].trouble = next_text(said, &at);
		c->hosts[i].fix = next_text(said, &at);
	}
	c->lost = at < said->n;
	if (c->lost)
		text_addn(&c->said, said->s + at, said->n - at);
	if (!unsaid)
		return 0;
	return interrupt_pending() ? 0
				   : err_set(e, ERR_SYS,
					     "what was to copy us to the hosts has "
					     "ended without a word");
}

/* ---- beginning and end ---- */
static void hold(const struct carry_opts *o, const struct parcel *p, const char *id, int until,
		 struct arena *a)
{
	static const char *const nothing[] = {"", NULL};
	struct launch_result r = {0};
	struct launch L = {.o = {.hosts = o->hosts,
				 .rsh = o->rsh,
				 .copy_self = true,
				 .keep = o->keep,
				 .argv = nothing,
				 .deadline_ns = o->deadline_ns},
			   .a = a,
			   .r = &r,
			   .parcel = *p,
			   .run_id = id,
			   .loop.epfd = -1};

	launch_hold(&L, until);
}

static int start(struct carry *c, const struct carry_opts *o, struct arena *a, struct err *e)
{
	unsigned char random[ID_BYTES];
	char id[ID_CHARS + 1];
	struct parcel parcel = {0};
	int ends[2];

	if (parcel_pack(o->programs, a, &parcel, e) < 0)
		return -1;
	randombytes_buf(random, sizeof(random));
	sodium_bin2hex(id, sizeof(id), random, sizeof(random));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return err_sys(e, "cannot begin to copy");
	c->pid = fork();
	if (c->pid == 0)
		hold(o, &parcel, id, ends[1], a);
	(void)close(ends[1]);
	c->fd = ends[0];
	if (c->pid > 0 && !setenv(CARRIED, arena_printf(a, "%s %s", id, parcel.sum), 1))
		return 0;
	err_sys(e, "cannot begin to copy");
	if (c->pid < 0)
		(void)close(c->fd);
	return -1;
}

int carry_begin(const struct carry_opts *o, struct arena *a, struct carry *ret, struct err *e)
{
	AUTO(arena_done) struct arena scratch = {0}; /* the parcel is large */
	struct carry c = {.n = o->hosts->n};
	struct text said;
	int rc;

	c.hosts = arena_alloc(a, c.n * sizeof(*c.hosts));
	text_init(&said, a);
	text_init(&c.said, a);
	log_progress("bringing programs to hosts", 0, c.n);
	rc = start(&c, o, &scratch, e);
	if (!rc) {
		rc = take(&c, &said, hear(c.fd, 2 + 2 * c.n, &said), e);
	}
	log_progress_end();
	if (rc < 0)
		carry_done(&c);
	*ret = c;
	return rc;
}

/* It has said all that it had to: more means that a host is lost, its end that all are. */
bool carry_lost(struct carry *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};

	c->lost = c->pid > 0 && (c->lost || poll(&p, 1, 0) > 0);
	return c->lost;
}

/* "HOST'S-NUMBER WHY" */
static void take_cut_off(struct carry *c, const char *text)
{
	size_t n = strspn(text, "0123456789"), i;

	if (!n || n > 9 || text[n] != ' ')
		return;
	i = strtoul(text, NULL, 10);
	if (i < c->n && !c->hosts[i].trouble)
		c->hosts[i].trouble = text + n + 1;
}

static void hear_more(struct carry *c, struct arena *a)
{
	char buf[4096];
	ssize_t n;

	if (!c->said.a)
		text_init(&c->said, a);
	while (c->pid > 0 && (n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		text_addn(&c->said, buf, (size_t)n);
}

static size_t in_trouble(const struct carry *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->hosts[i].trouble != NULL;
	return n;
}

size_t carry_cut_off(struct carry *c, struct arena *a)
{
	size_t before = in_trouble(c);
	const char *end;

	hear_more(c, a);
	for (const char *s = c->said.s;
	     (end = memchr(s, '\0', c->said.n - (size_t)(s - c->said.s))); s = end + 1)
		take_cut_off(c, s);
	return in_trouble(c) - before;
}

void carry_done(struct carry *c)
{
	if (c->pid <= 0)
		return;
	(void)close(c->fd);
	(void)wait_child(c->pid);
	(void)unsetenv(CARRIED);
	*c = (struct carry){0};
}
