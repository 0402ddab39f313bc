#include "bench/train/scaler.h"

static const float FIRST = 65536, MOST = 0x1p24f;

static void set(struct scaler *s, float scale)
{
	s->scale = scale;
	s->good = 0;
	if (s->tell)
		s->tell(scale);
}

void scaler_init(struct scaler *s, const struct engine *engine)
{
	const struct engine_device *d = engine ? engine->device : NULL;

	*s = (struct scaler){.tell = d && d->is_scaled() ? d->set_scale : NULL};
	set(s, s->tell ? FIRST : 1);
}

void scaler_resume(struct scaler *s, const struct scaler *saved)
{
	set(s, saved->scale);
	s->good = saved->good;
	s->skipped = saved->skipped;
}

bool scaler_is_used(const struct scaler *s) { return s->tell; }

bool scaler_judge(struct scaler *s, bool is_finite, bool *ret_lost)
{
	*ret_lost = !is_finite && s->scale <= 1;
	if (*ret_lost)
		return false;
	if (!is_finite) {
		s->skipped++;
		set(s, s->scale / 2);
		return false;
	}
	if (scaler_is_used(s) && ++s->good >= SCALER_PATIENCE && s->scale < MOST)
		set(s, s->scale * 2);
	return true;
}
