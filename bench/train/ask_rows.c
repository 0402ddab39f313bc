/* The options of ddpsmoke. What a row says of a default is said to people; what is done without
 * the option stands at the end, or in ask.c where it depends on others. */
#include "bench/comm/backend.h"
#include "bench/train/ask.h"
#include "bench/train/product.h"

#include <math.h>

#define AT(field) .off = offsetof(struct train_ask, field)

const struct opt train_ask_rows[TRAIN_ASK_NROWS] = {
	{.help = "What to train"},
	{0, "model", "NAME",
	 "cnn: two convolutions; mlp: two dense layers; resnet18: as in torchvision, by oneDNN",
	 OPT_CHOICE, AT(model), .choices = model_names, .def = "cnn"},
	{0, "side", "PIXELS", "of resnet18's images, which are made so large or small", OPT_UINT,
	 AT(side), .min = 32, .max = NET_SIDE_MAX, .def = "96"},
	{0, "device", "WHAT",
	 "cuda: each rank on its GPU (several may share one), by cuDNN and cuBLAS; cpu; auto: the "
	 "GPU where all ranks have one",
	 OPT_CHOICE, AT(engine.device), .choices = engine_devices, .def = "auto"},
	{0, "amp", "TYPE",
	 "multiply in 16 bits on the GPU, keep parameters in 32: bf16; fp16: with loss scaling",
	 OPT_CHOICE, AT(engine.amp), .choices = engine_precisions, .def = "off"},
	{0, "tf32", NULL,
	 "let the GPU round float32 to 10 bits where it multiplies; off, results compare with a "
	 "CPU's",
	 OPT_BOOL, AT(engine.tf32)},
	{0, "pattern", "HOW",
	 "ddp: all parameters on each rank; fsdp: sharded, gathered layer by layer", OPT_CHOICE,
	 AT(pattern), .choices = train_patterns, .def = "ddp"},
	{0, "backend", "NAME",
	 "who carries the gradients; auto: nccl between GPUs, else tcp; mpi: whichever started us, "
	 "else mpirun in PATH",
	 OPT_CHOICE, AT(train.backend), .choices = backend_names, .def = "auto"},
	{0, "epochs", "N", "how often to go through the data", OPT_UINT, AT(train.epochs), .min = 1,
	 .max = 1000000000, .def = "2, or as many as --steps takes"},
	{0, "steps", "N", "stop after so many steps", OPT_UINT, AT(train.max_steps), .min = 1,
	 .max = UINT64_C(1) << 53 /* as of --seed */},
	{0, "batch", "N", "samples per rank and step", OPT_UINT, AT(batch), .min = 1,
	 .max = TRAIN_BATCH_MAX, .def = "32; resnet18: 16"},
	{0, "global-batch", "N", "samples per step of all ranks together, instead of --batch",
	 OPT_UINT, AT(global_batch), .min = 1, .max = UINT32_MAX},
	{0, "data", "SET", "synthetic, or mnist:DIR, cifar10:DIR, stl10:DIR as distributed",
	 OPT_STR, AT(train.data_spec), .complete = OPT_C_DIR, .def = "synthetic"},
	{0, "samples", "N", "use so many of its samples", OPT_UINT, AT(samples), .min = 1,
	 .max = 10000000,
	 .def = "of synthetic 32 steps' in each epoch, at least 2048 (resnet18: 8, 256); else all"},
	{0, "validation", "N", "and so many others for validation (of files: of the test set)",
	 OPT_UINT, AT(validation), .min = 1, .max = 10000000,
	 .def = "512 of synthetic (resnet18: 64), else 1024"},
	{0, "workers", "N", "threads of each rank that read ahead", OPT_UINT, AT(workers),
	 .max = 64, .def = "0, of files 1"},
	{0, "drop-last", NULL, "drop samples that the ranks cannot share, do not repeat others",
	 OPT_BOOL, AT(train.drop_last)},
	{0, "seed", "N", "of parameters, data and their order", OPT_UINT, AT(train.seed),
	 .max = UINT64_C(1) << 53 /* JSON's readers know no number above exactly */, .def = "0"},

	{.help = "How to train (SGD)"},
	{0, "lr", "X", "learning rate", OPT_DOUBLE, AT(train.lr),
	 .def = "0.02, resnet18 0.01; in proportion less for a --batch below its default"},
	{0, "momentum", "X", "momentum", OPT_DOUBLE, AT(train.momentum), .def = "0.9"},
	{0, "weight-decay", "X", "weight decay", OPT_DOUBLE, AT(train.decay), .def = "0.0001"},
	{0, "lr-every", "EPOCHS", "multiply the learning rate every so many epochs", OPT_UINT,
	 AT(train.lr_every), .min = 1, .def = "30"},
	{0, "lr-gamma", "X", "by this", OPT_DOUBLE, AT(train.lr_gamma), .def = "0.1"},

	{.help = "What to save"},
	{0, "checkpoint", "DIR",
	 "save there after half of the epochs, as torch.save (--pattern fsdp: each rank its "
	 "shard), go on, then resume from it: does every rank see it, is it whole, does it come to "
	 "the same bits, how fast is it? What was written is removed",
	 OPT_STR, AT(train.checkpoint), .complete = OPT_C_DIR},
	{0, "checkpoint-size", "SIZE",
	 "how much to write in all, so that its speed is a real one's", OPT_SIZE,
	 AT(train.checkpoint_bytes), .min = 1, .def = "64M"},

	{.help = "What to expect"},
	{0, "expect", "PERCENT", "accuracy on validation data, however few the steps; 0: any",
	 OPT_DOUBLE, AT(expect),
	 .def = "90 of synthetic after 64 steps (fewer samples in each count less) of 128 samples "
		"or more, "
		"where SGD is as by default; else 0"},
	{.help = "What to make of it"},
	{0, "plot", "FILE", "draw the loss as SVG", OPT_STR, AT(plot), .complete = OPT_C_FILE},
	{0, "emit", "LAUNCHER", "print the command that starts one's own script on these ranks",
	 OPT_CHOICE, AT(emit), .choices = product_launchers},
	{0, "fault", "RANK:KIND", "make a rank do wrong", OPT_STR, AT(fault), .hidden = true},
};

const struct train_ask train_ask_defaults = {
	.model = "cnn",
	.pattern = "ddp",
	.engine = {.device = "auto", .amp = "off"},
	.workers = TRAIN_NOT_GIVEN,
	.expect = -1,
	.train = {.data_spec = "synthetic",
		  .backend = "auto",
		  .lr = NAN, /* not given */
		  .momentum = NAN,
		  .decay = NAN,
		  .lr_every = 30,
		  .lr_gamma = 0.1},
};
