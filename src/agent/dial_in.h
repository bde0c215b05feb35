// `dlaunch-agent --dial NONCE NAME`: an agent started by a batch system whose stdin and stdout cannot carry a link. The
// launcher sends its address and the job key on stdin (dialback/contact.h); the agent connects to the launcher,
// authenticates, and forwards the link of a second agent, its child. Ends with the link, after the child and the
// child's orphans.
#pragma once

namespace dlaunch::agent {

/// The main function. Prints a failure before the connection as `fail` on stdout, in the format of the bootstrap
/// script.
int dial_in_main(int argc, char** argv);

}  // namespace dlaunch::agent
