#include "bench/train/history.h"

/* Where a list has come to its end every second one is let go. */
#define THIN(list, most, every)                                                                    \
	do {                                                                                       \
		if ((list)->n < (most))                                                            \
			break;                                                                     \
		(list)->n /= 2;                                                                    \
		(every) *= 2;                                                                      \
		for (size_t i = 0; i < (list)->n; i++)                                             \
			(list)->v[i] = (list)->v[2 * i];                                           \
	} while (0)

void history_step(struct history *h, struct arena *a, const struct train_step *s)
{
	if (h->nsteps++ % h->steps_every == 0)
		*LIST_ADD(a, &h->steps) = *s;
	THIN(&h->steps, HISTORY_STEPS, h->steps_every);
	h->last_step = *s;
	h->sum.loss += s->loss;
	h->sum.top1 += s->top1;
	h->sum.seconds += s->seconds;
	h->sum.step++;
}

void history_epoch(struct history *h, struct arena *a, struct train_epoch *ep, bool is_odd)
{
	struct train_epoch *kept;

	ep->number = h->nepochs;
	ep->step = h->last_step.step;
	ep->loss = h->sum.loss / (double)h->sum.step;
	ep->top1 = h->sum.top1 / (double)h->sum.step;
	ep->seconds = h->sum.seconds;
	h->sum = (struct train_step){0};
	if (!h->nepochs)
		h->first = *ep;
	if (is_odd && !h->has_odd)
		h->odd = *ep;
	h->has_odd |= is_odd;
	h->last = *ep;
	if (h->nepochs++ % h->epochs_every)
		return;
	kept = LIST_ADD(a, &h->epochs);
	*kept = *ep;
	kept->words = NULL;
	THIN(&h->epochs, HISTORY_EPOCHS, h->epochs_every);
}
