# cmake -DFILE=… -DHEADER=… -DMACHINE=… -P AgentHash.cmake: what the launcher says of the agent that it carries.
file(SHA256 ${FILE} hash)
execute_process(COMMAND cksum INPUT_FILE ${FILE} OUTPUT_VARIABLE checksum OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${HEADER} "#define DLAUNCH_AGENT_HASH \"${hash}\"\n#define DLAUNCH_AGENT_MACHINE \"${MACHINE}\"\n"
                     "#define DLAUNCH_AGENT_CHECKSUM \"${checksum}\"\n")
