#include "lib/host/klog.h"

#include "lib/host/sysroot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/klog.h>

enum { BUFFER = 1 << 16, READ_ALL = 3, SIZE_BUFFER = 10, RING_MAX = 64 << 20 };

struct sieve {
	struct arena *a;
	const char *const *words;
	size_t n;
	klog_list *to;
};

/* "6,339,5140900,-;text" of /dev/kmsg, "<6>[    5.140900] text" of syslog(2). */
static const char *begin_of(const char *line, double *ret_seconds)
{
	unsigned long long level, number, us;
	int at = 0;

	*ret_seconds = NAN;
	if (sscanf(line, "%llu,%llu,%llu%n", &level, &number, &us, &at) == 3 && at) {
		const char *text = strchr(line + at, ';');

		*ret_seconds = (double)us / 1e6;
		return text ? text + 1 : line;
	}
	if (*line == '<')
		line += strcspn(line, ">") + (strchr(line, '>') != NULL);
	if (sscanf(line, "[%lf]%n", ret_seconds, &at) == 1 && at)
		return line + at + (line[at] == ' ');
	return line;
}

static void sift(struct sieve *s, const char *line)
{
	double seconds;
	const char *text = begin_of(line, &seconds);

	for (size_t i = 0; i < s->n && s->to->n < KLOG_MAX; i++)
		if (strstr(text, s->words[i])) {
			*LIST_ADD(s->a, s->to) =
				(struct klog_line){seconds, arena_strdup(s->a, text)};
			return;
		}
}

/* Whole lines; what remains moves to the front. */
static size_t split(struct sieve *s, char *buf, size_t n)
{
	char *at = buf, *end;

	while ((end = memchr(at, '\n', n - (size_t)(at - buf)))) {
		*end = '\0';
		sift(s, at);
		at = end + 1;
	}
	n -= (size_t)(at - buf);
	memmove(buf, at, n);
	return n;
}

/* A record for each read(); EPIPE says that some were overwritten meanwhile. */
static bool read_device(struct sieve *s, int fd, char *buf)
{
	size_t n = 0;
	ssize_t got;

	for (;;) {
		got = read(fd, buf + n, BUFFER - 1 - n);
		if (got < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (got <= 0)
			break;
		n = split(s, buf, n + (size_t)got);
		if (n >= BUFFER - 1)
			n = 0; /* no line is that long */
	}
	return !got || errno == EAGAIN;
}

static bool read_ring(struct sieve *s)
{
	int size = klogctl(SIZE_BUFFER, NULL, 0), n;
	AUTO_FREE char *ring = size > 0 && size <= RING_MAX ? malloc((size_t)size + 1) : NULL;

	if (!ring)
		return false;
	n = klogctl(READ_ALL, ring, size);
	if (n < 0)
		return false;
	ring[n] = '\n';
	(void)split(s, ring, (size_t)n + 1);
	return true;
}

void klog_sift(struct arena *a, char *lines, size_t n, const char *const *words, size_t nwords,
	       klog_list *ret)
{
	struct sieve s = {a, words, nwords, ret};

	(void)split(&s, lines, n);
}

bool klog_read(struct arena *a, const char *const *words, size_t n, klog_list *ret)
{
	struct sieve s = {a, words, n, ret};
	AUTO_CLOSE int fd =
		open(sysroot_path(a, "/dev/kmsg"), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	AUTO_FREE char *buf = malloc(BUFFER);

	*ret = (klog_list){0};
	if (buf && fd >= 0 && read_device(&s, fd, buf))
		return true;
	*ret = (klog_list){0};
	return sysroot_is_real() && read_ring(&s);
}

double klog_now(struct arena *a)
{
	const char *line = sysroot_line(a, "/proc/uptime");
	double v;

	return line && sscanf(line, "%lf", &v) == 1 ? v : NAN;
}
