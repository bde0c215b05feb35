        .section .rodata
        .balign 16
        .globl dlaunch_agent_begin
dlaunch_agent_begin:
        .incbin DLAUNCH_AGENT_FILE
        .globl dlaunch_agent_end
dlaunch_agent_end:
        .byte 0
        .section .note.GNU-stack,"",@progbits
