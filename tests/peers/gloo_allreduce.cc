/*
 * gloo_allreduce: Gloo's all_reduce of floats over TCP for one size, timed as
 * ncclbench times its own: warm up, barrier, iterations, mean over the ranks. Each
 * of its algorithms is timed; the fastest counts.
 *
 *	gloo_allreduce RANK RANKS FOLDER INTERFACE BYTES ITERATIONS WARMUP
 *
 * FOLDER: where the ranks meet, new for every run. Rank 0 prints "BYTES
 * MICROSECONDS"; every result is checked.
 */
#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <unistd.h>
#include <vector>

using context = std::shared_ptr<gloo::rendezvous::Context>;

static void barrier(const context &c)
{
	gloo::BarrierOptions o(c);
	gloo::barrier(o);
}

static void by_ring(const context &c, std::vector<float> &v)
{
	gloo::AllreduceOptions o(c);
	void (*sum)(void *, const void *, const void *, size_t) = &gloo::sum<float>;

	o.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
	o.setOutput(v.data(), v.size());
	o.setReduceFunction(sum);
	gloo::allreduce(o);
}

static double seconds()
{
	auto now = std::chrono::steady_clock::now().time_since_epoch();

	return std::chrono::duration<double>(now).count();
}

/* The mean over the ranks of the mean time of one run. */
static double timed(const context &c, std::vector<float> &v, const std::function<void()> &run,
		    long iters, long warmup)
{
	std::vector<float> mean(1);
	double t;

	v.assign(v.size(), (float)(c->rank + 1));
	run();
	for (float x : v)
		if (x != (float)(c->size * (c->size + 1) / 2))
			_exit(1);
	v.assign(v.size(), 0.0f); /* sums of sums would not stay finite */
	for (long i = 0; i < warmup; i++)
		run();
	barrier(c);
	t = seconds();
	for (long i = 0; i < iters; i++)
		run();
	mean[0] = (float)((seconds() - t) / (double)iters);
	by_ring(c, mean);
	return mean[0] / c->size;
}

/* Who closes its connections while another one still reads ends that one. */
static void leave_together(const std::string &folder, int rank, int size)
{
	for (int i = 0; i < 5000; i++) {
		int there = 0;

		if (!i)
			fclose(fopen((folder + "/done." + std::to_string(rank)).c_str(), "w"));
		for (int r = 0; r < size; r++)
			there += access((folder + "/done." + std::to_string(r)).c_str(), F_OK) == 0;
		if (there == size)
			break;
		usleep(1000);
	}
	usleep(20000);
}

int main(int argc, char **argv)
{
	if (argc != 8)
		return 2;
	gloo::transport::tcp::attr at;
	at.iface = argv[4];
	auto device = gloo::transport::tcp::CreateDevice(at);
	gloo::rendezvous::FileStore store(argv[3]);
	auto c = std::make_shared<gloo::rendezvous::Context>(atoi(argv[1]), atoi(argv[2]));
	size_t bytes = strtoull(argv[5], nullptr, 10);
	long iters = atol(argv[6]), warmup = atol(argv[7]);
	std::vector<float> v(bytes / sizeof(float));

	c->setTimeout(std::chrono::seconds(60));
	c->connectFullMesh(store, device);
	std::vector<float *> pointers{v.data()};
	gloo::AllreduceHalvingDoubling<float> halving(c, pointers, (int)v.size());
	gloo::AllreduceBcube<float> bcube(c, pointers, (int)v.size());
	double best = timed(
		c, v, [&] { by_ring(c, v); }, iters, warmup);

	best = std::min(best, timed(
				      c, v, [&] { halving.run(); }, iters, warmup));
	best = std::min(best, timed(
				      c, v, [&] { bcube.run(); }, iters, warmup));
	if (!c->rank)
		printf("%zu %.3f\n", bytes, best * 1e6);
	fflush(stdout);
	leave_together(argv[3], c->rank, c->size);
	_exit(0); /* its destructors wait for each other's connections */
}
