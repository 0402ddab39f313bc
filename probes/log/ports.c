/* Whose port is taken: that of torch's store, of which the entry speaks, or another server's, which
 * has an option of its own. */
#include "probes/log/explain.h"

#include "lib/core/text.h"

struct server {
	const char *words; /* that its lines have; "": the port says it alone */
	unsigned from, to;
	const char *whose, *fix;
};

/* The first one whose words the line has; else the first one of that port. */
static const struct server servers[] = {
	{"uvicorn", 0, 0, "an HTTP server of Python (uvicorn: vLLM, SGLang, FastAPI)",
	 "vllm serve MODEL --port 8001; uvicorn APP --port 8001"},
	{"vllm", 8000, 8000, "vLLM's server", "vllm serve MODEL --port 8001"},
	{"sglang", 30000, 30000, "SGLang's server",
	 "python3 -m sglang.launch_server --model MODEL --port 30001"},
	{"ray component", 6379, 6379, "Ray's head",
	 "ray stop; ray start --head --port 6380   # an earlier Ray still lives, or Redis"},
	{"gcs_server", 6379, 6379, "Ray's head",
	 "ray stop; ray start --head --port 6380   # an earlier Ray still lives, or Redis"},
	{"", 8265, 8265, "Ray's dashboard", "ray start --head --dashboard-port 8266"},
	{"", 10001, 10001, "Ray's server for clients",
	 "ray stop; ray start --head --ray-client-server-port 10002"},
	{"tensorboard", 6006, 6006, "TensorBoard", "tensorboard --logdir LOGS --port 0"},
	{"jupyter", 8888, 8888, "Jupyter",
	 "jupyter server list; jupyter server stop 8888; jupyter lab --port 8889"},
	{"gradio", 7860, 7869, "Gradio", "GRADIO_SERVER_PORT=7870 COMMAND"},
	{"streamlit", 8501, 8501, "Streamlit", "streamlit run APP --server.port 8502"},
	{"dask", 8786, 8787, "dask's scheduler or its dashboard",
	 "dask scheduler --port 8788 --dashboard-address :8789"},
	{"mlflow", 5000, 5000, "MLflow", "mlflow server --port 5001"},
	{"ollama", 11434, 11434, "Ollama", "OLLAMA_HOST=127.0.0.1:11435 ollama serve"},
	{"tritonserver", 8001, 8002, "Triton's server (gRPC, metrics)",
	 "tritonserver --http-port 9000 --grpc-port 9001 --metrics-port 9002"},
	{"dcgm", 9400, 9400, "dcgm-exporter", "dcgm-exporter --address :9401"},
	{"node_exporter", 9100, 9100, "Prometheus' node_exporter",
	 "node_exporter --web.listen-address :9101"},
	{"sshd", 22, 22, "the ssh server, of this host with hostNetwork or docker's --net=host",
	 "- sshd -p 2223, and ssh -p 2223 for whoever connects (mpirun --mca plm_rsh_args '-p "
	 "2223')"},
	{"", 2222, 2222, "an ssh server of a container (mpirun's)",
	 "- sshd -p 2223, and ssh -p 2223 for whoever connects (mpirun --mca plm_rsh_args '-p "
	 "2223')"},
	{"", 8000, 8000, "vLLM's server, and others that speak HTTP",
	 "vllm serve MODEL --port 8001"},
	{"", 8080, 8080, "a server that speaks HTTP (TGI, llama.cpp, TorchServe)",
	 "text-generation-launcher --port 8081 ...; llama-server --port 8081 ..."},
	{"gunicorn", 0, 0, "an HTTP server of Python (gunicorn)", "gunicorn --bind :5001 APP"},
	{"chttp2", 0, 0, "a gRPC server (TensorFlow's, by TF_CONFIG)",
	 "- another port for that task in TF_CONFIG, and the same TF_CONFIG for all"},
	{"connection in use", 0, 0, "an HTTP server of Python (gunicorn)",
	 "gunicorn --bind :5001 APP"},
};

/* torch's own, which the entry's words are about. */
static bool is_of_torch(const char *text)
{
	static const char *const words[] = {"c10d",	   "torch",	  "TCPStore", "socket.cpp",
					    "distributed", "MASTER_PORT", "29500"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

static bool may_be_of_torch(unsigned port) { return !port || (port >= 29400 && port <= 29999); }

static const struct server *server_of(const char *text, unsigned port)
{
	for (size_t i = 0; i < ARRAY_LEN(servers); i++)
		if (*servers[i].words && strcasestr(text, servers[i].words))
			return &servers[i];
	for (size_t i = 0; i < ARRAY_LEN(servers); i++)
		if (port && port >= servers[i].from && port <= servers[i].to)
			return &servers[i];
	return NULL;
}

/* The line does not say which port: those of torch are not it. */
static void without_number(struct arena *a, struct cause *c)
{
	str_list confirm = {0};

	c->meaning = "the port of a server is taken";
	*LIST_ADD(a, &confirm) = "ss -tlnp   # on that host: who listens on its port?";
	c->confirm = confirm;
}

void ports_advise(struct arena *a, struct cause *c)
{
	const struct server *s;
	str_list fix = {0}, causes = {0};

	if (!streq(c->sig->id, "PT-001") || !c->first || is_of_torch(c->first->text))
		return;
	s = server_of(c->first->text, c->port);
	if (!s && may_be_of_torch(c->port))
		return;
	if (s && !c->because)
		c->because = arena_printf(a, "usually that of %s", s->whose);
	*LIST_ADD(a, &causes) = "an earlier one of it still lives";
	*LIST_ADD(a, &causes) = "another program of this host, or another user, has that port";
	*LIST_ADD(a, &fix) = s ? s->fix : "- give the server that failed another port";
	*LIST_ADD(a, &fix) = "- end the process that ss names, where it is left over";
	c->causes = causes;
	c->fix = fix;
	if (!c->port)
		without_number(a, c);
}
