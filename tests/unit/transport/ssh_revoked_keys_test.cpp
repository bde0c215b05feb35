#include "transport/ssh/known_hosts.h"

#include <gmock/gmock.h>

#include "base/digest.h"
#include "base/text.h"
#include "temporary.h"
#include "transport/ssh/identity.h"

namespace dlaunch::transport::ssh {
namespace {

using testing::HasSubstr;

class Revocations : public Temporary {
 protected:
  Revocations() {
    EXPECT_TRUE(shell("cd " + path(".") + "; for n in a b ca; do ssh-keygen -q -t ed25519 -N '' -C '' -f $n; done").ok);
  }
  std::string line(const std::string& key) const { return read(path(key)).value_or(""); }
  std::string blob(const std::string& key) const { return from_base64(split(line(key), ' ').at(1)).value_or(""); }
  /// The binary data hashed by ssh-keygen.
  std::string sha256(const std::string& key) const {
    return from_base64(trim(shell("ssh-keygen -lf " + path(key) + " | cut -d' ' -f2 | cut -d: -f2").text)).value_or("");
  }
  bool has(const RevokedKeys& keys, const std::string& key) const { return keys.has(blob(key), sha256(key)); }
  std::string list(const std::string& spec) const {
    const std::string file = write("spec", spec);
    EXPECT_TRUE(shell("cd " + path(".") + "; rm -f krl; ssh-keygen -q -k -f krl -s ca.pub " + file).ok) << spec;
    return read(path("krl")).value_or("");
  }
};

TEST_F(Revocations, ReadPlainLists) {
  const RevokedKeys keys("# some\n\n  " + line("b.pub") + "\n");
  EXPECT_EQ(keys.trouble(), "");
  EXPECT_FALSE(has(keys, "a.pub"));
  EXPECT_TRUE(has(keys, "b.pub"));
}

TEST_F(Revocations, ReadListsOfSshKeygen) {
  for (const std::string& spec :
       {line("a.pub"), "key: " + line("a.pub"), "sha1: " + line("a.pub"), "sha256: " + line("a.pub"),
        "serial: 1-5\nid: some\nsha256: " + line("a.pub") + "sha1: " + line("b.pub")}) {
    const RevokedKeys keys(list(spec));
    EXPECT_EQ(keys.trouble(), "") << spec;
    EXPECT_TRUE(has(keys, "a.pub")) << spec;
    EXPECT_EQ(has(keys, "b.pub"), spec.starts_with("serial")) << spec;
    EXPECT_FALSE(has(keys, "ca.pub")) << spec;
  }
}

/// The rest of a damaged list is unknown.
TEST_F(Revocations, ReportDamagedLists) {
  const std::string whole = list(line("a.pub"));
  int whole_ones = 0;
  for (size_t size = 8; size <= whole.size(); ++size) {
    whole_ones += RevokedKeys(whole.substr(0, size)).trouble().empty() ? 1 : 0;
  }
  EXPECT_EQ(whole_ones, 2) << "without its only section it is a list of nothing, as it is to ssh";
  std::string odd = whole;
  odd += std::string("\x09", 1) + packed("?");
  EXPECT_THAT(RevokedKeys(odd).trouble(), HasSubstr("unknown section"));
  EXPECT_THAT(RevokedKeys(line("a.pub") + "nonsense\n").trouble(), HasSubstr("line 2"));
  EXPECT_THAT(RevokedKeys("ssh-rsa AAAA\n").trouble(), HasSubstr("line 1"));
  EXPECT_THAT(RevokedKeys::unreadable()->trouble(), HasSubstr("cannot read the file"));
}

TEST_F(Revocations, RevokedCertificateRevokesItsKey) {
  ASSERT_TRUE(shell("cd " + path(".") + "; ssh-keygen -q -s ca -I x -h a.pub").ok);
  const RevokedKeys keys(line("a-cert.pub"));
  EXPECT_EQ(keys.trouble(), "");
  EXPECT_TRUE(has(keys, "a.pub"));
  EXPECT_FALSE(has(keys, "b.pub"));
}

TEST_F(Revocations, CertificateIsForASingleKey) {
  for (const std::string type : {"ed25519", "ecdsa", "rsa -b 2048"}) {
    ASSERT_TRUE(shell("cd " + path(".") + "; rm -f k*; for n in k1 k2; do ssh-keygen -q -t " + type +
                      " -N '' -f $n; done; ssh-keygen -q -s ca -I x k1.pub")
                    .ok);
    const auto certificate = read_certificate("k1-cert.pub", line("k1-cert.pub"));
    ASSERT_TRUE(certificate) << type;
    EXPECT_TRUE(certifies(certificate->blob, blob("k1.pub"))) << type;
    EXPECT_FALSE(certifies(certificate->blob, blob("k2.pub"))) << type;
    EXPECT_FALSE(certifies(certificate->blob, ""));
    EXPECT_FALSE(certifies(blob("k1.pub"), blob("k1.pub")));
  }
  EXPECT_FALSE(read_certificate("a.pub", line("a.pub")));
  EXPECT_FALSE(read_certificate("a.pub", ""));
  EXPECT_FALSE(read_certificate("a.pub", "ssh-ed25519-cert-v01@openssh.com AAAA"));
}

}  // namespace
}  // namespace dlaunch::transport::ssh
