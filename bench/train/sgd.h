#ifndef BENCH_TRAIN_SGD_H
#define BENCH_TRAIN_SGD_H
/* One step of stochastic gradient descent: v = momentum v + g + decay p; p -= lr v */
struct sgd {
	float lr, momentum, decay;
};

#endif
