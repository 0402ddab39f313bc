/* What C sees of Gloo, and how its ranks meet. */
#include <dirent.h>
#include <gloo/config.h>
#include <gloo/transport/tcp/device.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

#include "bench/plugin/gloo/calls.h"

namespace
{

/*
 * How ranks learn what the others published. Every rank sets the same kinds of
 * keys in the same order, before it asks for anybody else's: setting one is
 * the moment of an exchange.
 */
class Exchanged : public gloo::rendezvous::Store
{
      public:
	explicit Exchanged(const gloo_ops_world &w) : w_(w) {}

	void set(const std::string &key, const std::vector<char> &data) override
	{
		std::string mine = key + '\0' + std::string(data.begin(), data.end());
		std::vector<uint64_t> lengths(w_.size);
		uint64_t length = mine.size(), longest;

		gather(&length, sizeof(length), lengths.data());
		longest = *std::max_element(lengths.begin(), lengths.end());
		if (longest > kMost)
			throw std::runtime_error("another rank sent no addresses of Gloo's");
		mine.resize(longest);
		std::string all(longest * static_cast<size_t>(w_.size), '\0');
		gather(mine.data(), longest, &all[0]);
		for (size_t i = 0; i < lengths.size(); i++)
			keep(all.substr(i * longest, std::min(lengths[i], longest)));
	}
	std::vector<char> get(const std::string &key) override { return values_.at(key); }
	void wait(const std::vector<std::string> &) override {}

      private:
	static constexpr uint64_t kMost = 64 << 20;

	void keep(const std::string &pair)
	{
		size_t end = std::min(pair.find('\0'), pair.size());
		size_t from = std::min(end + 1, pair.size());

		values_[pair.substr(0, end)] = {pair.begin() + static_cast<long>(from), pair.end()};
	}

	void gather(const void *mine, size_t n, void *all)
	{
		if (w_.exchange(w_.arg, mine, n, all))
			throw std::runtime_error("the ranks did not meet");
	}

	const gloo_ops_world &w_;
	std::map<std::string, std::vector<char>> values_;
};

int failed(const char *what, char *why, size_t n)
{
	const char *end = std::strncmp(what, "[", 1) == 0 ? std::strstr(what, "] ") : nullptr;

	(void)snprintf(why, n, "%s", end ? end + 2 : what); /* without file and line */
	return -1;
}

/* One side's end of a connection; port 0: it has none. */
struct End {
	in6_addr address;
	int port;
};

End end_of(const sockaddr_storage &s)
{
	End e = {};

	if (s.ss_family == AF_INET) {
		auto in = reinterpret_cast<const sockaddr_in &>(s);
		std::memcpy(&e.address, &in.sin_addr, sizeof(in.sin_addr));
		e.port = ntohs(in.sin_port);
	} else if (s.ss_family == AF_INET6) {
		auto in6 = reinterpret_cast<const sockaddr_in6 &>(s);
		e.address = in6.sin6_addr;
		e.port = ntohs(in6.sin6_port);
	}
	return e;
}

bool ends_of(int fd, End *ret_own, End *ret_peer)
{
	sockaddr_storage own = {}, peer = {};
	socklen_t n = sizeof(own), m = sizeof(peer);

	if (getsockname(fd, reinterpret_cast<sockaddr *>(&own), &n) ||
	    getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &m))
		return false;
	*ret_own = end_of(own);
	*ret_peer = end_of(peer);
	return ret_own->port && ret_peer->port;
}

/* This rank's ends of the connections to all others. */
std::vector<End> own_ends(gloo_ops &g, int rank, int size)
{
	std::vector<End> ends(static_cast<size_t>(size));

	for (int r = 0; r < size; r++) {
		sockaddr_storage s = {};

		if (r == rank)
			continue;
		auto bytes = g.context->getPair(r)->address().bytes();
		std::memcpy(&s, bytes.data(), std::min(sizeof(s), bytes.size()));
		ends[static_cast<size_t>(r)] = end_of(s);
	}
	return ends;
}

/* Rank @from's end of the connection to rank @to, as it told it. */
End told_end(Exchanged &store, int from, int to)
{
	auto all = store.get("ends of " + std::to_string(from));
	size_t at = static_cast<size_t>(to) * sizeof(End);
	End e = {};

	if (at + sizeof(e) <= all.size())
		std::memcpy(&e, &all[at], sizeof(e));
	return e;
}

/*
 * Gloo keeps its sockets to itself: they are found by their two ends, of which each rank knows
 * its own. (All that others connected to may share this rank's end.) Where addresses are
 * translated on the way, the ports have to do.
 */
void find_links(gloo_ops &g, Exchanged &store, int rank, int size)
{
	auto ends = own_ends(g, rank, size);
	auto bytes = reinterpret_cast<const char *>(ends.data());
	std::vector<End> told; /* by each rank: its end of the connection to this one */
	DIR *fds;

	store.set("ends of " + std::to_string(rank), {bytes, bytes + ends.size() * sizeof(End)});
	for (int r = 0; r < size; r++)
		told.push_back(told_end(store, r, rank));
	fds = opendir("/proc/self/fd");
	for (dirent *d; fds && (d = readdir(fds));) {
		gloo_link l = {static_cast<int>(std::strtol(d->d_name, nullptr, 10)), -1, 0, 0};
		End own, peer;

		if (!ends_of(l.fd, &own, &peer))
			continue;
		for (int r = 0; r < size; r++) {
			const End &theirs = told[static_cast<size_t>(r)];

			if (r != rank && own.port == ends[static_cast<size_t>(r)].port &&
			    peer.port == theirs.port &&
			    (l.rank < 0 || IN6_ARE_ADDR_EQUAL(&peer.address, &theirs.address)))
				l.rank = r;
		}
		l.own = own.port;
		l.peer = peer.port;
		if (l.rank >= 0)
			g.links.push_back(l);
	}
	if (fds)
		(void)closedir(fds);
}

/* Gloo takes a store as it is, and a shared one since 2025. */
template <class Mesh, class Device>
auto meet(Mesh &mesh, const std::shared_ptr<Exchanged> &store, Device &device)
	-> decltype(mesh.connectFullMesh(store, device))
{
	mesh.connectFullMesh(store, device);
}
template <class Mesh, class Device>
auto meet(Mesh &mesh, const std::shared_ptr<Exchanged> &store, Device &device)
	-> decltype(mesh.connectFullMesh(*store, device))
{
	mesh.connectFullMesh(*store, device);
}

/* Members of a part gather blobs over what it is split from, which the others need not notice. */
struct Gathering {
	gloo_ops &from;
	const int *members;
	int rank, size;
	uint32_t step;

	void gather(const void *mine, size_t n, char *all)
	{
		uint64_t slot =
			(UINT64_C(0x58) << 56) | (static_cast<uint64_t>(from.parts) << 16) | ++step;
		auto out = from.context->createUnboundBuffer(const_cast<void *>(mine), n);
		auto in = from.context->createUnboundBuffer(all, n * static_cast<size_t>(size));

		std::memcpy(all + n * static_cast<size_t>(rank), mine, n);
		for (int i = 0; i < size; i++)
			if (i != rank) {
				in->recv(members[i], slot, n * static_cast<size_t>(i), n);
				out->send(members[i], slot, 0, n);
			}
		for (int i = 1; i < size; i++)
			if (!in->waitRecv(from.context->getTimeout()) ||
			    !out->waitSend(from.context->getTimeout()))
				throw std::runtime_error("the ranks of a part did not meet");
	}
};

int gather_part(void *arg, const void *mine, size_t n, void *all)
{
	static_cast<Gathering *>(arg)->gather(mine, n, static_cast<char *>(all));
	return 0;
}

} // namespace

extern "C" const char *gloo_ops_version(void)
{
	static const std::string text = std::to_string(GLOO_VERSION_MAJOR) + "." +
					std::to_string(GLOO_VERSION_MINOR) + "." +
					std::to_string(GLOO_VERSION_PATCH);

	return text.c_str();
}

extern "C" struct gloo_ops *gloo_ops_new(const struct gloo_ops_world *w, char *why, size_t n)
{
	try {
		auto g = std::make_unique<gloo_ops>();
		gloo::transport::tcp::attr attr;
		auto store = std::make_shared<Exchanged>(*w);

		attr.hostname = w->address;
		auto device = gloo::transport::tcp::CreateDevice(attr);
		g->context = std::make_shared<gloo::rendezvous::Context>(w->rank, w->size);
		g->context->setTimeout(std::chrono::milliseconds(w->timeout_ms));
		meet(*g->context, store, device);
		find_links(*g, *store, w->rank, w->size);
		return g.release();
	} catch (const std::exception &e) {
		(void)failed(e.what(), why, n);
	}
	return nullptr;
}

/*
 * The caller watches the time, and breaks connections off. Now and then Gloo does not hear of that
 * and goes on waiting: then it is the same time that ends it, for each of its waits, and a second.
 */
static void may_take(struct gloo_ops *g, uint64_t most_ms)
{
	g->context->setTimeout(std::chrono::milliseconds(static_cast<int64_t>(most_ms) + 1000));
}

extern "C" void gloo_ops_count_part(struct gloo_ops *from) { from->parts++; }

extern "C" struct gloo_ops *gloo_ops_part(struct gloo_ops *from, const int *members,
					  const struct gloo_ops_world *w, char *why, size_t n)
{
	Gathering g = {*from, members, w->rank, w->size, 0};
	gloo_ops_world o = *w;

	may_take(from, w->timeout_ms);
	o.exchange = gather_part;
	o.arg = &g;
	return gloo_ops_new(&o, why, n);
}

extern "C" void gloo_ops_free(struct gloo_ops *g) { delete g; }

extern "C" int gloo_ops_run(struct gloo_ops *g, const struct comm_request *q, uint64_t most_ms,
			    char *why, size_t n)
{
	try {
		may_take(g, most_ms);
		gloo_call(*g, *q);
		return 0;
	} catch (const std::exception &e) {
		return failed(e.what(), why, n);
	}
}

/* Gloo's own way to close connections leaves who waits for them waiting. */
extern "C" void gloo_ops_break(struct gloo_ops *g)
{
	End own, peer;

	for (const auto &l : g->links)
		if (ends_of(l.fd, &own, &peer) && own.port == l.own && peer.port == l.peer)
			(void)shutdown(l.fd, SHUT_RDWR);
}

/* "Connection closed by peer [10.0.0.2]:41234", where Gloo 0.5 forgets to swap the port's bytes. */
extern "C" int gloo_ops_blames(const struct gloo_ops *g, const char *why)
{
	const char *at = std::strstr(why, "]:");
	long port = at ? std::strtol(at + 2, nullptr, 10) : 0;

	for (const auto &l : g->links)
		if (l.peer == port || ntohs(static_cast<uint16_t>(l.peer)) == port)
			return l.rank;
	return -1;
}
