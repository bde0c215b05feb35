# cmake -DFILE=… -DHEADER=… -DMACHINE=… -P AgentHash.cmake: writes the agent's hash, machine and checksum for the launcher.
file(SHA256 ${FILE} hash)
execute_process(COMMAND cksum INPUT_FILE ${FILE} OUTPUT_VARIABLE checksum OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${HEADER} "#define DLAUNCH_AGENT_HASH \"${hash}\"\n#define DLAUNCH_AGENT_MACHINE \"${MACHINE}\"\n"
                     "#define DLAUNCH_AGENT_CHECKSUM \"${checksum}\"\n")
