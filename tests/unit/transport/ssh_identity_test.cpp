#include "transport/ssh/identity.h"

#include "temporary.h"

namespace dlaunch::transport::ssh {
namespace {

class Identities : public Temporary {
 protected:
  Identity made(const std::string& options) {
    const std::string file = path("key");
    EXPECT_TRUE(shell("rm -f " + file + "*; ssh-keygen -q -f " + file + " " + options).ok);
    public_ = read(file + ".pub").value_or("");
    return read_identity(file, read(file).value_or(""), "");
  }
  std::string public_;
};

TEST_F(Identities, ReadPublicKeyWithoutPassphrase) {
  for (const std::string type : {"-t ed25519", "-t ecdsa", "-t rsa -b 2048"}) {
    for (const bool secret : {false, true}) {
      const Identity identity = made(type + (secret ? " -N secret" : " -N ''"));
      EXPECT_EQ(identity.kind, secret ? Identity::Kind::encrypted : Identity::Kind::usable) << type;
      EXPECT_FALSE(identity.public_blob.empty());
      EXPECT_EQ(identity.public_blob, read_identity("", "", public_).public_blob) << type;
    }
  }
}

TEST_F(Identities, ReadOldFormatsWithPublicFile) {
  Identity identity = made("-m PEM -t rsa -b 2048 -N ''");
  EXPECT_EQ(identity.kind, Identity::Kind::usable);
  EXPECT_FALSE(read_identity("", identity.key, public_).public_blob.empty());
  EXPECT_EQ(made("-m PEM -t rsa -b 2048 -N secret").kind, Identity::Kind::encrypted);
  EXPECT_EQ(made("-m PKCS8 -t rsa -b 2048 -N secret").kind, Identity::Kind::encrypted);
}

TEST_F(Identities, AcceptPublicKeyOfAnAgentsKey) {
  made("-t ed25519 -N ''");
  const Identity identity = read_identity("key.pub", public_, "");
  EXPECT_EQ(identity.kind, Identity::Kind::foreign);
  EXPECT_FALSE(identity.public_blob.empty());
}

TEST_F(Identities, TreatBrokenFilesAsForeign) {
  const Identity good = made("-t ed25519 -N ''");
  for (size_t size = 0; size < good.key.size(); size += 7) {
    const Identity cut = read_identity("", good.key.substr(0, size), "");
    if (cut.kind == Identity::Kind::usable) {
      EXPECT_FALSE(cut.key.empty());
    }
  }
  EXPECT_EQ(read_identity("", "garbage", "garbage").kind, Identity::Kind::foreign);
  EXPECT_EQ(read_identity("", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", "").kind, Identity::Kind::foreign);
}

TEST_F(Identities, TreatKeysReadableByOthersAsUnprotected) {
  const auto is = [](unsigned owner, unsigned mode) { return is_unprotected({"", owner, mode}, 1000); };
  EXPECT_FALSE(is(1000, 0600));
  EXPECT_FALSE(is(1000, 0400));
  EXPECT_TRUE(is(1000, 0640));
  EXPECT_TRUE(is(1000, 0604));
  EXPECT_TRUE(is(1000, 0620));
  EXPECT_FALSE(is(0, 0644)) << "of another owner: ssh takes it";
}

}  // namespace
}  // namespace dlaunch::transport::ssh
