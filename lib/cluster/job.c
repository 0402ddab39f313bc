#include "lib/cluster/job.h"

#include "lib/cluster/way.h"
#include "lib/core/units.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>

enum {
	CHUNK = 64 << 10,
	DRAIN_MAX = 32, /* chunks left in a pipe when the process has ended */
};
static const uint64_t GRACE_NS = NS_PER_S;

/* Words, which end at no NUL; and what says that it is over stays. */
static void keep_tail(struct job *j, const char *p, size_t n)
{
	size_t drop;

	if (j->is_over)
		return;
	j->spilt += n;
	if (n > JOB_TAIL) {
		p += n - JOB_TAIL;
		n = JOB_TAIL;
	}
	drop = j->tail_n + n > JOB_TAIL ? j->tail_n + n - JOB_TAIL : 0;
	memmove(j->tail, j->tail + drop, j->tail_n - drop);
	memcpy(j->tail + j->tail_n - drop, p, n);
	for (char *c = j->tail + j->tail_n - drop, *end = c + n; c < end; c++)
		if (!*c)
			*c = '\n';
	j->tail_n += n - drop;
	j->tail[j->tail_n] = '\0';
	p = j->over ? strstr(j->tail, j->over) : NULL;
	j->is_over = p && strchr(p + strlen(j->over), '\n');
}

static void keep_out(struct job *j, const char *p, size_t n)
{
	size_t room = j->max_output - j->out.n;

	j->truncated |= n > room;
	j->spilt += n > room ? n - room : 0;
	text_addn(&j->out, p, n < room ? n : room);
}

/* False when there is nothing more: for now, or for ever (*ret_eof). */
static bool read_chunk(struct job *j, int fd, bool *ret_eof)
{
	char buf[CHUNK];
	ssize_t n = read(fd, buf, sizeof(buf));

	*ret_eof = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
	if (n <= 0)
		return false;
	if (fd == j->child.out)
		keep_out(j, buf, (size_t)n);
	else
		keep_tail(j, buf, (size_t)n);
	return true;
}

static void drain(struct job *j, int fd)
{
	bool eof;

	for (int i = 0; i < DRAIN_MAX && read_chunk(j, fd, &eof); i++)
		;
}

static void unwatch(struct job *j)
{
	loop_del(j->loop, &j->out_io);
	loop_del(j->loop, &j->err_io);
	loop_del(j->loop, &j->exit_io);
	loop_disarm(j->loop, &j->timer);
}

/*
 * Ended means that the process has, not that its pipes have: a connection that
 * ssh's ControlPersist keeps open holds on to stderr for minutes.
 */
bool job_collect(struct job *j)
{
	drain(j, j->child.err); /* it may say that it is over */
	j->child.leaves_kin = j->is_over && !j->quits;
	if (!child_ended(&j->child, &j->status, &j->signal))
		return false;
	drain(j, j->child.out);
	drain(j, j->child.err);
	unwatch(j);
	child_done(&j->child);
	j->took_ns = now_ns() - j->start_ns;
	j->ended(j);
	return true;
}

static void on_exit_fd(struct loop *l UNUSED, struct io *io, uint32_t events UNUSED)
{
	(void)job_collect(CONTAINER_OF(io, struct job, exit_io));
}

/* More than is kept is no silence, but what nobody could want is no answer either. */
static bool is_endless(const struct job *j) { return j->spilt > JOB_ENDLESS; }

/* Cannot fail: the loop has room for this timer since job_start(). */
static void rearm(struct job *j, uint64_t delay_ns)
{
	struct err ignored;

	(void)!loop_arm(j->loop, &j->timer, delay_ns, &ignored);
}

static void heard_more(struct job *j, bool was_over)
{
	if (j->is_over) {
		if (!was_over)
			rearm(j, GRACE_NS);
	} else if (is_endless(j)) {
		j->endless = true;
		job_quit(j);
		rearm(j, GRACE_NS);
	} else {
		rearm(j, j->is_way ? way_patience(j->tail, j->deadline_ns) : j->deadline_ns);
	}
}

static void on_output(struct job *j, struct io *io)
{
	const bool was_over = j->is_over;
	bool eof;

	if (read_chunk(j, io->fd, &eof)) {
		if (!j->quits)
			heard_more(j, was_over);
	} else if (eof) {
		loop_del(j->loop, io);
	}
}

static void on_out(struct loop *l UNUSED, struct io *io, uint32_t events UNUSED)
{
	on_output(CONTAINER_OF(io, struct job, out_io), io);
}

static void on_err(struct loop *l UNUSED, struct io *io, uint32_t events UNUSED)
{
	on_output(CONTAINER_OF(io, struct job, err_io), io);
}

static void on_silence(struct loop *l UNUSED, struct timer *t)
{
	struct job *j = CONTAINER_OF(t, struct job, timer);

	j->lingers = j->is_over;
	j->timed_out = !j->is_over && !j->endless;
	j->asks = j->timed_out && j->is_way && (way_asks(j->tail) || way_asks(j->out.s));
	job_quit(j);
	rearm(j, GRACE_NS);
}

static int watch(struct job *j, struct err *e)
{
	j->out_io = (struct io){.fd = j->child.out, .ready = on_out};
	j->err_io = (struct io){.fd = j->child.err, .ready = on_err};
	j->exit_io = (struct io){.fd = j->child.exit_fd, .ready = on_exit_fd};
	j->timer = (struct timer){.fire = on_silence};
	if (loop_add(j->loop, &j->out_io, EPOLLIN, e) < 0 ||
	    loop_add(j->loop, &j->err_io, EPOLLIN, e) < 0 ||
	    loop_add(j->loop, &j->exit_io, EPOLLIN, e) < 0)
		return -1;
	return loop_arm(j->loop, &j->timer, j->deadline_ns, e);
}

int job_start(struct job *j, struct loop *l, char *const *argv, struct arena *a, struct err *e)
{
	j->loop = l;
	j->timed_out = j->truncated = j->endless = j->lingers = j->asks = j->is_over = false;
	j->tail_n = j->quits = j->spilt = 0;
	*j->tail = '\0';
	text_init(&j->out, a);
	j->start_ns = now_ns();
	if ((j->is_way ? child_start_held(&j->child, argv, j->held_by, e)
		       : child_start(&j->child, argv, e)) < 0)
		return -1;
	if (watch(j, e) < 0) {
		job_done(j);
		return -1;
	}
	return 0;
}

bool job_running(const struct job *j) { return j->child.pid > 0; }

void job_quit(struct job *j)
{
	child_let_go(&j->child);
	child_signal(&j->child, j->quits++ ? SIGKILL : SIGTERM);
}

void job_done(struct job *j)
{
	if (!job_running(j))
		return;
	unwatch(j);
	child_done(&j->child);
}
