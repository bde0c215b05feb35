# cmake -DFILE=… -DHEADER=… -DMACHINE=… -P AgentHash.cmake: what the launcher says of the agent that it carries.
file(SHA256 ${FILE} hash)
file(WRITE ${HEADER} "#define DLAUNCH_AGENT_HASH \"${hash}\"\n#define DLAUNCH_AGENT_MACHINE \"${MACHINE}\"\n")
