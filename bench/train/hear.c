#include "bench/train/hear.h"

#include "lib/core/log.h"
#include "lib/core/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>

enum { TEXT_MAX = 64 << 20, BITE = 64 << 10 };
static const uint64_t PAUSE_NS = 100 * NS_PER_MS;
static const char mark[] = "progress "; /* "progress DONE TOTAL WHAT" */

void hear_tell(const char *what, uint64_t done, uint64_t total)
{
	static uint64_t told_ns;
	char line[256];
	int n;

	if (told_ns && now_ns() - told_ns < PAUSE_NS) /* a line wakes three processes */
		return;
	told_ns = now_ns();
	n = snprintf(line, sizeof(line), "%s%" PRIu64 " %" PRIu64 " %s\n", mark, done, total, what);

	if (n > 0 && (size_t)n < sizeof(line))
		(void)!write(STDOUT_FILENO, line, (size_t)n);
}

/* --- the launcher's side ---------------------------------------------------------- */

static bool next_number(char **at, uint64_t *ret)
{
	char *end = strchr(*at, ' ');

	if (!end)
		return false;
	*end = '\0';
	if (parse_uint(*at, ret))
		return false;
	*at = end + 1;
	return true;
}

static void take_progress(struct hear *h, char *line)
{
	uint64_t done, total;

	line += sizeof(mark) - 1;
	if (!next_number(&line, &done) || !next_number(&line, &total))
		return;
	(void)snprintf(h->last, sizeof(h->last), "step %" PRIu64 " of %" PRIu64 ", %.100s", done,
		       total, line);
	log_progress(line, done, total);
}

/* Whole lines of progress leave the text again; the document stays. */
static void take_lines(struct hear *h)
{
	char *nl;

	while (starts_with(h->text, mark) && (nl = strchr(h->text, '\n'))) {
		size_t n = (size_t)(nl + 1 - h->text);

		*nl = '\0';
		take_progress(h, h->text);
		h->n -= n;
		memmove(h->text, h->text + n, h->n + 1);
	}
}

/* What is too much is dropped, and then is no document; a rank must not wait for us. */
static void make_room(struct hear *h)
{
	size_t cap = h->cap * 2;
	char *more;

	if (h->cap - h->n > BITE)
		return;
	more = cap <= TEXT_MAX ? realloc(h->text, cap) : NULL;
	if (!more) {
		h->n = 0;
		return;
	}
	h->text = more;
	h->cap = cap;
}

static bool hear_out(struct hear *h)
{
	ssize_t n;

	make_room(h);
	n = read(h->out[0], h->text + h->n, BITE);
	if (n <= 0)
		return n < 0 && errno == EINTR;
	h->n += (size_t)n;
	h->text[h->n] = '\0';
	take_lines(h);
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
	*h = (struct hear){.out = {-1, -1}, .err = {-1, -1}};
	h->cap = 4 * BITE;
	h->text = calloc(1, h->cap);
	if (h->text && !pipe2(h->out, O_CLOEXEC) && !pipe2(h->err, O_CLOEXEC) &&
	    !pthread_create(&h->thread, NULL, listen_to, h)) {
		h->running = true;
		return 0;
	}
	hear_done(h);
	return err_sys(e, "cannot listen to the ranks");
}

void hear_stop(struct hear *h)
{
	close_end(&h->out[1]);
	close_end(&h->err[1]);
	if (h->running)
		(void)pthread_join(h->thread, NULL);
	h->running = false;
}

void hear_done(struct hear *h)
{
	hear_stop(h);
	close_end(&h->out[0]);
	close_end(&h->err[0]);
	free(h->text);
	h->text = NULL;
}
