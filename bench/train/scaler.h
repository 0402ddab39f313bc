#ifndef BENCH_TRAIN_SCALER_H
#define BENCH_TRAIN_SCALER_H
/*
 * Loss scaling, as torch.cuda.amp's GradScaler does it. Gradients of fp16 are computed of
 * a multiple of the loss, so that small ones do not become zero; where a large one became
 * infinite the step is left out and the multiple halved, and after many good steps
 * doubled. Every rank asks about the same averaged gradients: all decide alike.
 */
#include "bench/train/engine.h"

enum { SCALER_PATIENCE = 2000 }; /* good steps before it grows */
struct scaler {
	float scale;
	unsigned good;		   /* steps since the last change */
	uint64_t skipped;	   /* steps left out */
	void (*tell)(float scale); /* the engine's; NULL: nobody needs it */
};

/* Nobody but fp16 needs it: else it stays 1, and @engine may be NULL. */
void scaler_init(struct scaler *s, const struct engine *engine);
/* As it was when that was saved. */
void scaler_resume(struct scaler *s, const struct scaler *saved);
bool scaler_is_used(const struct scaler *s);
/*
 * Are the averaged gradients finite? True: take the step. Where they are not although
 * the multiple is 1 already, it is not the multiple's fault: *ret_lost.
 */
bool scaler_judge(struct scaler *s, bool is_finite, bool *ret_lost);

#endif
