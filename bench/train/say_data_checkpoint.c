/* What came of --checkpoint, as data. */
#include "bench/train/say_checkpoint.h"

#include "lib/report/json.h"

#include <math.h>

static double count(uint64_t n) { return n && n != UINT64_MAX ? (double)n : NAN; }

static double per_second(uint64_t bytes, double seconds)
{
	return bytes && seconds > 0 ? (double)bytes / seconds / 1e9 : NAN;
}

static void add_rank(cJSON *ranks, const struct run *x, int rank)
{
	const struct saved_word *w = &x->res->saved.words[rank];
	const struct checkpoint_deed *read = say_checkpoint_read(x, rank);
	const struct saved_again *again = x->res->saved.again;
	bool has_written = w->put.state == CHECKPOINT_DONE;
	bool has_read = read->state == CHECKPOINT_DONE;
	cJSON *o = json_push_object(ranks);

	json_num(o, "rank", rank);
	json_str(o, "host", x->w->peers[rank].host);
	json_str(o, "filesystem", *w->place.kind ? w->place.kind : NULL);
	json_str(o, "source", *w->place.kind ? w->place.source : NULL);
	json_str(o, "mount", *w->place.kind ? w->place.point : NULL);
	json_num(o, "free_bytes", count(*w->place.kind ? w->place.free : 0));
	json_bool(o, "written", has_written);
	json_num(o, "written_bytes", has_written ? (double)w->put.bytes : NAN);
	json_num(o, "write_seconds", has_written ? w->put.seconds : NAN);
	if (w->put.is_unseen || w->look.state != CHECKPOINT_NOT_TRIED)
		json_bool(o, "sees_others", !w->put.is_unseen && w->look.state == CHECKPOINT_DONE);
	if (read->state != CHECKPOINT_NOT_TRIED)
		json_bool(o, "read", has_read);
	json_num(o, "read_bytes", has_read ? (double)read->bytes : NAN);
	json_num(o, "read_seconds", has_read ? read->seconds : NAN);
	if (has_read)
		json_bool(o, "read_from_memory", read->is_cached);
	if (again)
		json_bool(o, "resumes_equal", !again[rank].lost && !again[rank].unlike);
}

void say_data_checkpoint(cJSON *data, const struct run *x)
{
	const struct saved_result *s = &x->res->saved;
	double seconds, rate;
	uint64_t bytes;
	bool equal = true;
	cJSON *o, *ranks;

	if (!s->words)
		return;
	o = json_object(data, "checkpoint");
	json_str(o, "folder", s->folder);
	json_num(o, "epochs_done", (double)s->epochs);
	json_num(o, "steps_done", (double)s->steps);
	bytes = say_checkpoint_sum(x, false, &seconds);
	rate = per_second(bytes, seconds);
	json_num(o, "written_bytes", count(bytes));
	json_num(o, "write_seconds", bytes ? seconds : NAN);
	json_num(o, "write_gbps", rate);
	json_num(o, "large_minutes", CHECKPOINT_LARGE_BYTES / (rate * 1e9) / 60);
	bytes = say_checkpoint_sum(x, true, &seconds);
	json_num(o, "read_bytes", count(bytes));
	json_num(o, "read_seconds", bytes ? seconds : NAN);
	json_num(o, "read_gbps", say_checkpoint_reading(x));
	for (int i = 0; i < x->w->size && s->again; i++)
		equal &= !s->again[i].lost && !s->again[i].unlike;
	if (s->again)
		json_bool(o, "resumes_equal", equal);
	ranks = json_array(o, "ranks");
	for (int i = 0; i < x->w->size; i++)
		add_rank(ranks, x, i);
}
