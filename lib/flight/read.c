#include "lib/flight/flight.h"

#include "lib/core/bytes.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/flight/pickle.h"
#include "lib/report/json.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>

/* What one dump may be: a buffer of 100,000 entries with their frames fits. */
enum {
	PICKLE_MAX = 128 << 20,
	UNFOLDED_MAX = 256 << 20,
	JSON_MAX = 64 << 20,
	JSON_VALUES = 4 << 20
};
enum { JSON_DEPTH = 16, PART = 64 << 10 };

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* A key of a dict: a profiler's trace has a list under the same name. */
static bool has_dict(const char *head, size_t n, const char *key)
{
	const char *p = memmem(head, n, key, strlen(key)), *end = head + n;

	for (p = p ? p + strlen(key) : end; p < end && (is_space(*p) || *p == ':'); p++)
		;
	return p < end && *p == '{';
}

static bool json_begins(const char *head, size_t n)
{
	static const char *const dicts[] = {"\"pg_config\"", "\"pg_status\"",
					    "\"nccl_comm_state\""};
	static const char *const keys[] = {"\"collective_seq_id\"", "\"profiling_name\""};
	size_t at = 0;

	while (at < n && is_space(head[at]))
		at++;
	if (at == n || (head[at] != '{' && head[at] != '['))
		return false;
	/* its own keys, not those of a line of a log that quotes one */
	for (at++; at < n && (is_space(head[at]) || head[at] == '{'); at++)
		;
	if (at == n || head[at] != '"')
		return false;
	for (size_t i = 0; i < ARRAY_LEN(dicts); i++)
		if (has_dict(head, n, dicts[i]))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (memmem(head, n, keys[i], strlen(keys[i])))
			return true;
	return false;
}

bool flight_begins(const char *head, size_t n)
{
	return pickle_begins(head, n) || json_begins(head, n);
}

/* --- JSON ---------------------------------------------------------------------------- */
static bool from_json(struct value_room *room, const cJSON *j, struct value *ret);

static bool fill(struct value_room *room, const cJSON *j, struct value *ret)
{
	*ret = (struct value){.kind = cJSON_IsObject(j) ? VALUE_DICT : VALUE_LIST};
	ret->seq = value_seq_new(room, 0);
	if (!ret->seq)
		return false;
	for (const cJSON *c = j->child; c; c = c->next) {
		struct value v, key = {.kind = VALUE_TEXT};

		key.s = c->string ? c->string : "";
		key.n = (uint32_t)strlen(key.s);
		if (ret->kind == VALUE_DICT && !value_push(room, ret->seq, &key, 1))
			return false;
		if (!from_json(room, c, &v) || !value_push(room, ret->seq, &v, 1))
			return false;
	}
	return true;
}

/* No deeper than json_parse() lets it be. */
static bool from_json(struct value_room *room, const cJSON *j, struct value *ret)
{
	*ret = (struct value){0};
	if (cJSON_IsObject(j) || cJSON_IsArray(j))
		return fill(room, j, ret);
	if (cJSON_IsString(j)) {
		*ret = (struct value){.kind = VALUE_TEXT, .s = j->valuestring};
		ret->n = (uint32_t)strlen(ret->s);
	} else if (cJSON_IsBool(j)) {
		*ret = (struct value){.kind = VALUE_BOOL, .i = cJSON_IsTrue(j)};
	} else if (cJSON_IsNumber(j)) {
		bool whole = j->valuedouble > -9e18 && j->valuedouble < 9e18 &&
			     (double)(int64_t)j->valuedouble == j->valuedouble;

		ret->kind = whole ? VALUE_INT : VALUE_FLOAT;
		if (whole)
			ret->i = (int64_t)j->valuedouble;
		else
			ret->f = j->valuedouble;
	}
	return true;
}

static int take_json(struct flight *f, struct flight_dump *d, struct value_room *room,
		     const char *data, size_t n, struct err *e)
{
	size_t values = 0;
	struct value v;
	cJSON *j;
	int failed;

	for (size_t i = 0; i < n; i++)
		values += data[i] == ',' || data[i] == '[' || data[i] == '{';
	if (n > JSON_MAX || values > JSON_VALUES)
		return err_set(e, ERR_SYS, "it is larger than a dump in JSON can be");
	j = json_parse(data, n, JSON_DEPTH, e);
	if (!j)
		return -1;
	failed = from_json(room, j, &v) ? flight_model(f, d, &v, e)
					: err_set(e, ERR_SYS, "it unfolds to too much");
	cJSON_Delete(j);
	return failed;
}

/* --- one dump ------------------------------------------------------------------------- */
static int refuse(const char *path, bool is_cut, struct err *e)
{
	struct err why = *e;

	e->kind = ERR_NONE;
	(void)err_set(e, ERR_SYS, "cannot read the dump %s: %s", path, why.msg);
	if (is_cut)
		return err_hint(e, "its rank was ended while it wrote: "
				   "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC=120000 gives it longer; "
				   "or copy the file again");
	return err_hint(e, "ncclwhy reads what PyTorch's Flight Recorder writes: pickles "
			   "(nccl_trace_rank_N) and JSON");
}

int flight_take(struct flight *f, const char *path, int64_t written_ns, const char *data, size_t n,
		struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	struct value_room room = {.a = &a, .left = UNFOLDED_MAX};
	struct flight_dump d = {.path = arena_strdup(&f->a, path), .version = "", .rank = -1};
	bool is_pickle = pickle_begins(data, n), is_cut = false;
	struct value v;
	int failed;

	d.written_ns = written_ns;
	failed = !is_pickle ? take_json(f, &d, &room, data, n, e)
			    : pickle_read(data, n, &room, &v, &is_cut, e) ||
				      flight_model(f, &d, &v, e);
	if (!failed && d.rank < 0) {
		err_set(e, ERR_SYS,
			"the name of the dump %s does not say of which rank of its groups it is",
			path);
		err_hint(e, "name it nccl_trace_rank_N, as PyTorch does, N being the rank");
		free(d.entries.v);
		return -1;
	}
	if (failed) {
		d.is_cut = true;
		d.rank = flight_rank_of(path);
		(void)refuse(path, is_cut, e);
	}
	if (d.rank >= 0 && (!failed || is_cut))
		*LIST_ADD(&f->a, &f->dumps) = d;
	return failed ? -1 : 0;
}

/* --- its file -------------------------------------------------------------------------- */
/* 0: none that a dump could have. */
static int64_t time_of(const struct stat *st)
{
	const int64_t s = st->st_mtim.tv_sec, second_ns = (int64_t)NS_PER_S;

	return s > 0 && s < INT64_MAX / second_ns ? s * second_ns + st->st_mtim.tv_nsec : 0;
}

static int refuse_large(const char *path, struct err *e)
{
	err_set(e, ERR_SYS, "%s is larger than a dump can be", path);
	return err_hint(e, "is it one? nccl_trace_rank_N has some megabytes");
}

/* A file has its end, and half a dump says what is not so: only a pipe may be left. */
static int slurp(struct bytes *b, int fd, size_t max, bool is_file, const char *path, struct err *e)
{
	unsigned char *to;
	ssize_t got = 1;

	while (got && (is_file || interrupt_poll(fd, POLLIN, -1))) {
		to = bytes_room(b, PART);
		if (!to)
			return err_sys(e, "no memory to read %s", path);
		got = read(fd, to, b->cap - b->n);
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return err_sys(e, "reading %s", path);
		b->n += got > 0 ? (size_t)got : 0;
		if (b->n > max)
			return refuse_large(path, e);
	}
	return 0;
}

int flight_read(struct flight *f, int fd, const char *path, const char *head, size_t n,
		struct err *e)
{
	AUTO(bytes_done) struct bytes b = {0};
	size_t max = pickle_begins(head, n) ? PICKLE_MAX : JSON_MAX;
	int64_t written_ns = 0;
	struct stat st;
	bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

	if (is_file) {
		written_ns = time_of(&st);
		if (st.st_size > (off_t)max)
			return refuse_large(path, e);
	}
	if (bytes_add(&b, head, n, e) || slurp(&b, fd, max, is_file, path, e))
		return -1;
	return flight_take(f, path, written_ns, b.n ? (char *)b.p : "", b.n, e);
}
