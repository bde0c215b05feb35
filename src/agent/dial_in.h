// `dlaunch-agent --dial NONCE NAME`: an agent that a resource manager started where its stdin and stdout cannot carry a
// link. The launcher says on stdin where it listens and what the job's key is (dialback/contact.h); the agent connects
// to it, proves itself and carries the link of a second agent, its child.
#pragma once

namespace dlaunch::agent {

/// Its main function. What went wrong before it was in is a `fail` on stdout, as the bootstrap's script says it.
int dial_in_main(int argc, char** argv);

}  // namespace dlaunch::agent
