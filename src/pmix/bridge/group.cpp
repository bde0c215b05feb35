// The groups of PmixServer: all hosts construct and destruct a group together.
#include <pmix.h>

#include <algorithm>
#include <utility>

#include "pmix/bridge/description.h"
#include "pmix/bridge/server.h"
#include "pmix/members.h"

namespace dlaunch::pmix {
namespace {

void release(void* infos) { delete static_cast<Infos*>(infos); }

}  // namespace

void PmixServer::construct(std::string members, std::string data, Group waits) {
  collect(kConstructGroup, std::move(members), write_group_part({next_group_, std::move(data)}), std::move(waits));
}

/// A group is constructed, or destructed without a result.
void PmixServer::constructed(const wire::PmixShared& shared, Gathering done) {
  auto& group = std::get<Group>(done.waits);
  if (shared.kind != kConstructGroup || shared.status != PMIX_SUCCESS) return refuse(group, shared.status);
  auto whole = join_group_parts(done.data);
  if (!whole) return refuse(group, PMIX_ERROR);
  next_group_ = std::max(next_group_, whole->number + 1);
  auto* infos = new Infos;  // libpmix frees it after reading
  infos->add_size(PMIX_GROUP_CONTEXT_ID, whole->number);
  infos->add_processes(PMIX_GROUP_MEMBERSHIP, group.members);
  if (!whole->data.empty()) infos->add_bytes(PMIX_GROUP_ENDPT_DATA, whole->data);
  group.call(PMIX_SUCCESS, infos->data(), infos->size(), group.data, release, infos);
}

}  // namespace dlaunch::pmix
