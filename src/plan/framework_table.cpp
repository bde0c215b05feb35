#include "plan/framework_table.h"

#include "base/environment.h"

#include <algorithm>
#include <array>

namespace dlaunch::plan {
namespace {

void torch_shared(const FrameworkJob& job, Entries& set) {
  set.set("WORLD_SIZE", job.size);
  set.set("MASTER_ADDR", job.address);
  set.set("MASTER_PORT", job.master_port);
  set.set("GROUP_WORLD_SIZE", job.hosts);
}

void torch_own(const FrameworkJob&, const FrameworkRank& rank, Entries& set) {
  set.set("RANK", rank.rank);
  set.set("LOCAL_RANK", rank.device_index);
  set.set("LOCAL_WORLD_SIZE", rank.local_size);
  set.set("GROUP_RANK", rank.host);
  set.set("NODE_RANK", rank.host);
}

/// The other variables of torchrun. Never TORCHELASTIC_USE_AGENT_STORE: rank 0 opens the store.
void torchrun_shared(const FrameworkJob& job, Entries& set) {
  torch_shared(job, set);
  set.set("ROLE_NAME", "default");
  set.set("ROLE_WORLD_SIZE", job.size);
  set.set("TORCHELASTIC_RUN_ID", job.id);
  set.set("TORCHELASTIC_RESTART_COUNT", job.round);
  set.set("TORCHELASTIC_MAX_RESTARTS", job.restarts);
  if (job.most_local > 1) set.set_if_unset("OMP_NUM_THREADS", "1");
  set.set_if_unset("NCCL_ASYNC_ERROR_HANDLING", "1");  // PyTorch before 2.2 requires this name
  set.set_if_unset("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
}

void torchrun_own(const FrameworkJob& job, const FrameworkRank& rank, Entries& set) {
  torch_own(job, rank, set);
  set.set("ROLE_RANK", rank.rank);
}

/// DeepSpeed requires all of the first five names; otherwise it looks for MPI.
void deepspeed_shared(const FrameworkJob& job, Entries& set) {
  set.set("WORLD_SIZE", job.size);
  set.set("MASTER_ADDR", job.address);
  set.set("MASTER_PORT", job.master_port);
  set.set("CROSS_SIZE", job.hosts);
}

void deepspeed_own(const FrameworkJob&, const FrameworkRank& rank, Entries& set) {
  set.set("RANK", rank.rank);
  set.set("LOCAL_RANK", rank.device_index);
  set.set("LOCAL_SIZE", rank.local_size);
  set.set("CROSS_RANK", rank.host);
}

void jax_shared(const FrameworkJob& job, Entries& set) {
  set.set("JAX_COORDINATOR_ADDRESS", job.jax_address);
  set.set("JAX_NUM_PROCESSES", job.size);
}

void jax_own(const FrameworkJob&, const FrameworkRank& rank, Entries& set) {
  set.set("JAX_PROCESS_ID", rank.rank);
  if (rank.ordinal) set.set("JAX_LOCAL_DEVICE_IDS", *rank.ordinal);
}

void nothing_shared(const FrameworkJob&, Entries&) {}

void tensorflow_own(const FrameworkJob& job, const FrameworkRank& rank, Entries& set) {
  std::string config = R"({"cluster":{"worker":[")";
  for (const char c : job.workers) {
    if (c == ',') {
      config += R"(",")";
    } else {
      config += c;
    }
  }
  config += R"("]},"task":{"type":"worker","index":)" + std::to_string(rank.rank) + "}}";
  set.set("TF_CONFIG", config);
}

/// For a rank table. Every rank has RANK_ID, RANK_SIZE and DEVICE_ID already.
void mindspore_own(const FrameworkJob&, const FrameworkRank& rank, Entries& set) {
  set.set("DEVICE_NUM", rank.local_size);
}

/// For a scheduler that assigns ranks. MindSpore uses its own counter as device number and ignores DEVICE_ID. The ranks
/// of a host must therefore see its devices in the order of local ranks.
void mindspore_dynamic_shared(const FrameworkJob& job, Entries& set) {
  set.set("MS_SCHED_HOST", job.address);
  set.set("MS_SCHED_PORT", job.scheduler_port);
  set.set("MS_WORKER_NUM", job.size);
}

void mindspore_dynamic_own(const FrameworkJob&, const FrameworkRank& rank, Entries& set) {
  set.set("MS_ROLE", "MS_WORKER");
  set.set("MS_NODE_ID", rank.rank);
}

/// Without RANK_ID: otherwise a script would run its code for rank 0 twice.
void mindspore_scheduler(Entries& set) { set.set("MS_ROLE", "MS_SCHED"); }

void horovod_shared(const FrameworkJob& job, Entries& set) {
  set.set("HOROVOD_SIZE", job.size);
  set.set("HOROVOD_CONTROLLER", "gloo");
  set.set("HOROVOD_CPU_OPERATIONS", "gloo");
  set.set("HOROVOD_GLOO_RENDEZVOUS_ADDR", job.address);
  set.set("HOROVOD_GLOO_RENDEZVOUS_PORT", job.horovod_port);
}

void horovod_own(const FrameworkJob&, const FrameworkRank& rank, Entries& set) {
  set.set("HOROVOD_HOSTNAME", rank.host_name);
  set.set("HOROVOD_RANK", rank.rank);
  set.set("HOROVOD_LOCAL_RANK", rank.local_rank);
  set.set("HOROVOD_LOCAL_SIZE", rank.local_size);
  set.set("HOROVOD_CROSS_RANK", rank.cross_rank);
  set.set("HOROVOD_CROSS_SIZE", rank.cross_size);
}

/// Horovod's rendezvous: PUT and GET of /SCOPE/KEY over HTTP, 404 until the key exists, as Horovod's gloo client
/// expects. The server listens on the address given to the ranks, or on this machine only if all ranks are here.
constexpr std::string_view kHorovodServer[] = {"python3", "-c", R"(
import http.server, os

class Keys(http.server.BaseHTTPRequestHandler):
    keys = {}

    def answer(self, status, value=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(value)))
        self.end_headers()
        self.wfile.write(value)

    def do_PUT(self):
        self.keys[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200)

    def do_GET(self):
        found = self.path in self.keys
        self.answer(200 if found else 404, self.keys.get(self.path, b""))

    def do_DELETE(self):
        self.keys.pop(self.path, None)
        self.answer(200)

    def log_message(self, *words):
        pass

address = os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"]
place = (address if address.startswith("127.") else "", int(os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"]))
http.server.ThreadingHTTPServer(place, Keys).serve_forever()
)"};

/// Never sets OMPI_COMMAND or PMIX_*: MPI libraries and MindSpore would search for an mpirun process.
void openmpi_shared(const FrameworkJob& job, Entries& set) {
  set.set("OMPI_COMM_WORLD_SIZE", job.size);
  set.set("OMPI_UNIVERSE_SIZE", job.slots);
}

void openmpi_own(const FrameworkJob&, const FrameworkRank& rank, Entries& set) {
  set.set("OMPI_COMM_WORLD_RANK", rank.rank);
  set.set("OMPI_COMM_WORLD_LOCAL_RANK", rank.local_rank);
  set.set("OMPI_COMM_WORLD_LOCAL_SIZE", rank.local_size);
  set.set("OMPI_COMM_WORLD_NODE_RANK", rank.local_rank);
}

void mpich_shared(const FrameworkJob& job, Entries& set) { set.set("PMI_SIZE", job.size); }

void mpich_own(const FrameworkJob&, const FrameworkRank& rank, Entries& set) {
  set.set("PMI_RANK", rank.rank);
  set.set("MPI_LOCALRANKID", rank.local_rank);
  set.set("MPI_LOCALNRANKS", rank.local_size);
}

void slurm_shared(const FrameworkJob& job, Entries& set) {
  set.set("SLURM_JOB_ID", job.number);
  set.set("SLURM_NTASKS", job.size);
  set.set("SLURM_NPROCS", job.size);
  set.set("SLURM_NNODES", job.hosts);
  set.set("SLURM_STEP_NODELIST", job.addresses);
  set.set("SLURM_STEP_NUM_NODES", job.hosts);
  set.set("SLURM_STEP_NUM_TASKS", job.size);
  set.set("SLURM_STEP_TASKS_PER_NODE", job.ranks_of_hosts);
  set.set("SLURM_TASKS_PER_NODE", job.ranks_of_hosts);
  if (!job.order.empty()) set.set("SLURM_DISTRIBUTION", job.order);
}

void slurm_own(const FrameworkJob&, const FrameworkRank& rank, Entries& set) {
  set.set("SLURM_PROCID", rank.rank);
  set.set("SLURM_LOCALID", rank.local_rank);
  set.set("SLURM_NODEID", rank.host);
  if (!rank.host_ranks.empty()) set.set("SLURM_GTIDS", rank.host_ranks);
}

constexpr std::array<FrameworkSpec, 11> kTable{
    {{.framework = Framework::torch, .name = "torch", .shared = torch_shared, .own = torch_own, .rendezvous = true},
     {.framework = Framework::torchrun,
      .name = "torchrun",
      .shared = torchrun_shared,
      .own = torchrun_own,
      .rendezvous = true},
     {.framework = Framework::deepspeed,
      .name = "deepspeed",
      .shared = deepspeed_shared,
      .own = deepspeed_own,
      .rendezvous = true},
     {.framework = Framework::jax, .name = "jax", .shared = jax_shared, .own = jax_own, .rendezvous = true},
     {.framework = Framework::tensorflow,
      .name = "tensorflow",
      .shared = nothing_shared,
      .own = tensorflow_own,
      .names_all_hosts = true},
     {.framework = Framework::mindspore, .name = "mindspore", .shared = nothing_shared, .own = mindspore_own},
     {.framework = Framework::mindspore_dynamic,
      .name = "mindspore-dynamic",
      .shared = mindspore_dynamic_shared,
      .own = mindspore_dynamic_own,
      .rendezvous = true,
      .sidecar = "scheduler",
      .beside = mindspore_scheduler},
     {.framework = Framework::horovod,
      .name = "horovod",
      .shared = horovod_shared,
      .own = horovod_own,
      .rendezvous = true,
      .sidecar = "rendezvous server",
      .beside = [](Entries&) {},
      .server = kHorovodServer},
     {.framework = Framework::openmpi, .name = "openmpi", .shared = openmpi_shared, .own = openmpi_own},
     {.framework = Framework::mpich, .name = "mpich", .shared = mpich_shared, .own = mpich_own},
     {.framework = Framework::slurm,
      .name = "slurm",
      .shared = slurm_shared,
      .own = slurm_own,
      .names_all_hosts = true}}};

}  // namespace

void Entries::set(std::string_view name, std::string_view value) {
  std::string entry(name);
  entry.append("=").append(value);
  const auto same = std::ranges::find(list_, name, variable_name);
  if (same == list_.end()) {
    list_.push_back(std::move(entry));
  } else {
    *same = std::move(entry);
  }
}

std::span<const FrameworkSpec> framework_table() { return kTable; }

const FrameworkSpec& spec_of(Framework framework) {
  return *std::ranges::find(kTable, framework, &FrameworkSpec::framework);
}

}  // namespace dlaunch::plan
