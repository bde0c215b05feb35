// `dlaunch-agent --dial NONCE NAME`: an agent of a batch system that does not connect stdin and stdout of the agent
// with the launcher. The launcher sends its address and the job key on stdin (dialback/job_key.h); the agent connects
// to the launcher, authenticates, and forwards the link of a second agent, its child. Exits when the link, the child
// and all orphans of the child have ended.
#pragma once

namespace dlaunch::agent {

/// The main function. Prints a failure before the connection as `fail` on stdout, in the format of the bootstrap
/// script.
int dial_in_main(int argc, char** argv);

}  // namespace dlaunch::agent
