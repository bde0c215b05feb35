        .section .rodata
#include "agent_bytes.inc"
        .section .note.GNU-stack,"",@progbits
