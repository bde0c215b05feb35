# cmake -DFILES=a,b -DDIRECTORY=… -P AgentHash.cmake: writes agent_bytes.inc, the lines of the assembler that include the
# agents, and agent_hash.h, the hash, machine type and checksum of each agent. All agents must have the same sources as
# the first agent.
cmake_policy(VERSION 3.25) # CMakeLists.txt does not apply to a script
string(REPLACE "," ";" FILES "${FILES}")
set(machine_3e00 x86_64) # e_machine of ELF
set(machine_b700 aarch64)
set(first_mark)
set(machines)
foreach(file IN LISTS FILES)
  file(READ ${file} type OFFSET 18 LIMIT 2 HEX)
  set(machine ${machine_${type}})
  if(NOT machine OR machine IN_LIST machines)
    message(FATAL_ERROR "${file}: unknown or duplicate machine type \"${machine}\" (${type})")
  endif()
  file(STRINGS ${file} mark REGEX "^dlaunch-agent of sources [0-9a-f]+$")
  if(NOT first_mark)
    set(first_mark "${mark}")
  endif()
  if(NOT mark STREQUAL first_mark)
    message(FATAL_ERROR "${file}: other sources: \"${mark}\", expected \"${first_mark}\": build this agent again")
  endif()
  file(SHA256 ${file} hash)
  execute_process(COMMAND cksum INPUT_FILE ${file} OUTPUT_VARIABLE checksum OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  set(name kDlaunchAgent_${machine})
  string(APPEND bytes ".balign 16\n.globl ${name}\n${name}:\n.incbin \"${file}\"\n.globl ${name}_end\n${name}_end:\n.byte 0\n")
  string(APPEND declared "extern \"C\" const char ${name}[];\nextern \"C\" const char ${name}_end[];\n")
  string(APPEND images " {{${name}, static_cast<size_t>(${name}_end - ${name})}, \"${hash}\", \"${machine}\", \"${checksum}\"},")
  list(APPEND machines ${machine})
endforeach()
file(WRITE ${DIRECTORY}/agent_bytes.inc "${bytes}")
file(WRITE ${DIRECTORY}/agent_hash.h "#include <cstddef>\n${declared}#define DLAUNCH_AGENTS${images}\n")
