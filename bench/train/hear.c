#include "bench/train/hear.h"

#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/mman.h>

enum { TEXT_MAX = 64 << 20, BITE = 64 << 10 };
static const uint64_t PAUSE_NS = 100 * NS_PER_MS;
static struct relay voice = {.fd = -1};

/* --- a rank's side ---------------------------------------------------------------- */

/* Open MPI's ranks write to a terminal of its own: line by line a report takes seconds there. */
void hear_speak(void)
{
	static char buffer[BITE];

	voice.fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	(void)setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
}

/* A container may have no /dev/null. */
int hear_nobody(struct err *e)
{
	AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	AUTO_CLOSE int memory = null >= 0 ? -1 : memfd_create("unheard", MFD_CLOEXEC);

	if (dup2(null >= 0 ? null : memory, STDOUT_FILENO) < 0)
		return err_sys(e, "cannot be silent");
	return 0;
}

int hear_fd(void) { return voice.fd; }

void hear_tell(const char *what, uint64_t done, uint64_t total)
{
	static uint64_t told_ns;
	cJSON *event;

	if (told_ns && now_ns() - told_ns < PAUSE_NS) /* a line wakes three processes */
		return;
	told_ns = now_ns();
	event = relay_event("progress");
	json_str(event, "what", what);
	json_num(event, "done", (double)done);
	json_num(event, "total", (double)total);
	relay_send(&voice, event);
}

/* An MPI may end rank 0 with another one, before it can say who that was. */
void hear_tell_ranks(struct rdzv *z)
{
	const struct rdzv_member *m;
	cJSON *event, *ranks, *o;
	struct err unknown;
	size_t n;

	if (voice.fd < 0 || rdzv_members(z, &m, &n, &unknown))
		return;
	event = relay_event("ranks");
	ranks = json_array(event, "ranks");
	for (size_t i = 0; i < n; i++) {
		o = json_push_object(ranks);
		json_str(o, "host", m[i].host);
		json_str(o, "address", m[i].data_addr);
	}
	relay_send(&voice, event);
}

void hear_tell_error(const struct err *e) { relay_send(&voice, relay_error("error", e)); }

/* "rank 0 (a, 10.0.0.1) died"; but "rank 0 (a, 10.0.0.1): no memory" it says itself. */
static bool is_first_gone(const char *sentence)
{
	const char *end = strchr(sentence, ')');

	return starts_with(sentence, "rank 0 ") && !(end && end[1] == ':');
}

void hear_tell_lost(const char *sentence)
{
	cJSON *event;

	if (!is_first_gone(sentence))
		return;
	event = relay_event("lost");
	json_str(event, "message", sentence);
	relay_send(&voice, event);
}

/* --- the launcher's side ---------------------------------------------------------- */

/* Who aborts where another one was killed may have lost it in the middle of a copy. */
static void on_died(struct hear *h, int rank, const char *cause)
{
	bool aborted = strstr(cause, "SIGABRT") != NULL;

	if (h->died >= 0 && (aborted || !strstr(h->cause, "SIGABRT"))) {
		h->echo = aborted ? rank : h->echo;
		return;
	}
	h->echo = h->died;
	h->died = rank;
	(void)snprintf(h->cause, sizeof(h->cause), "%s", cause);
}

static void on_ranks(struct hear *h, const cJSON *event)
{
	const cJSON *o;

	cJSON_ArrayForEach (o, json_get(event, "ranks")) {
		const char *host = arena_strdup(&h->a, json_get_str(o, "host") ?: "?");
		const char *name = arena_printf(&h->a, "rank %zu (%.60s, %.60s)", h->names.n, host,
						json_get_str(o, "address") ?: "?");

		*LIST_ADD(&h->a, &h->hosts) = host;
		*LIST_ADD(&h->a, &h->names) = name;
	}
}

static void on_event(const cJSON *event, void *arg)
{
	struct hear *h = arg;
	const char *text = json_get_str(event, "what") ?: json_text(event, "message");
	uint64_t done = json_get_count(event, "done", 0), total = json_get_count(event, "total", 0);

	if (streq(json_get_str(event, "ev"), "died")) {
		on_died(h, json_get_int(event, "rank", -1), json_text(event, "cause"));
		return;
	}
	if (streq(json_get_str(event, "ev"), "ranks")) {
		on_ranks(h, event);
		return;
	}
	if (streq(json_get_str(event, "ev"), "ending")) {
		__atomic_add_fetch(&h->ending, 1, __ATOMIC_RELEASE);
		return;
	}
	if (streq(json_get_str(event, "ev"), "error")) {
		relay_error_take(event, &h->error);
		__atomic_store_n(&h->over, 1, __ATOMIC_RELEASE);
		return;
	}
	if (streq(json_get_str(event, "ev"), "lost")) {
		(void)snprintf(h->lost, sizeof(h->lost), "%s", text);
		__atomic_store_n(&h->over, 1, __ATOMIC_RELEASE);
		return;
	}
	(void)snprintf(h->last, sizeof(h->last), "step %" PRIu64 " of %" PRIu64 ", %.100s", done,
		       total, text);
	log_progress(text, done, total);
}

/* What is too much is dropped, all of it; a rank must not wait for us. */
static bool make_room(struct hear *h, size_t n)
{
	size_t cap = h->cap;
	char *more;

	while (cap < h->n + n)
		cap *= 2;
	if (cap == h->cap)
		return true;
	more = cap <= TEXT_MAX ? realloc(h->text, cap) : NULL;
	if (!more) {
		h->n = 0;
		h->is_too_large = true;
		return false;
	}
	h->text = more;
	h->cap = cap;
	return true;
}

/* The document is the lines from "{" to "}"; anything else is some library's. */
static void on_line(const char *line, void *arg)
{
	struct hear *h = arg;
	size_t n = strlen(line);

	if (h->is_whole || (!h->n && !h->is_too_large && !streq(line, "{"))) {
		log_progress_end();
		log_say("%s", line);
		return;
	}
	if (!h->is_too_large && make_room(h, n + 2)) {
		memcpy(h->text + h->n, line, n);
		h->n += n;
		memcpy(h->text + h->n++, "\n", 2);
	}
	h->is_whole = streq(line, "}");
	if (h->is_whole)
		__atomic_store_n(&h->over, 1, __ATOMIC_RELEASE);
}

static bool hear_out(struct hear *h)
{
	char bite[BITE];
	ssize_t n = read(h->out[0], bite, sizeof(bite));

	if (n <= 0)
		return n < 0 && errno == EINTR;
	relay_feed(&h->in, bite, (size_t)n);
	return true;
}

static bool hear_err(struct hear *h)
{
	char buf[4096];
	ssize_t n = read(h->err[0], buf, sizeof(buf));

	if (n <= 0)
		return n < 0 && errno == EINTR;
	log_progress_end();
	for (ssize_t at = 0, k; at < n; at += k) {
		k = write(STDERR_FILENO, buf + at, (size_t)(n - at));
		if (k <= 0)
			break; /* there is nobody left to tell */
	}
	return true;
}

static void *listen_to(void *arg)
{
	struct hear *h = arg;
	struct pollfd p[] = {{.fd = h->out[0], .events = POLLIN},
			     {.fd = h->err[0], .events = POLLIN}};

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		if (p[0].revents && !hear_out(h))
			p[0].fd = -1;
		if (p[1].revents && !hear_err(h))
			p[1].fd = -1;
	}
	log_progress_end();
	return NULL;
}

static void close_end(int *fd)
{
	auto_closep(fd);
	*fd = -1;
}

int hear_start(struct hear *h, struct err *e)
{
	int why;

	*h = (struct hear){.out = {-1, -1}, .err = {-1, -1}, .died = -1, .echo = -1};
	h->in = (struct relay_in){.event = on_event, .other = on_line, .is_mixed = true, .arg = h};
	h->cap = 4 * BITE;
	h->text = calloc(1, h->cap);
	if (h->text && !pipe2(h->out, O_CLOEXEC) && !pipe2(h->err, O_CLOEXEC) &&
	    !(errno = pthread_create(&h->thread, NULL, listen_to, h))) {
		h->running = true;
		return 0;
	}
	why = errno;
	hear_done(h);
	errno = why;
	return err_fork(e, "cannot listen to the ranks");
}

void hear_stop(struct hear *h)
{
	close_end(&h->out[1]);
	close_end(&h->err[1]);
	if (h->running)
		(void)pthread_join(h->thread, NULL);
	h->running = false;
	relay_in_done(&h->in);
}

void hear_done(struct hear *h)
{
	hear_stop(h);
	close_end(&h->out[0]);
	close_end(&h->err[0]);
	free(h->text);
	h->text = NULL;
	arena_done(&h->a);
	h->hosts = h->names = (str_list){0};
}
