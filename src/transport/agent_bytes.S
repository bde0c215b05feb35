        .section .rodata
        .balign 16
        .globl kDlaunchAgentBegin
kDlaunchAgentBegin:
        .incbin DLAUNCH_AGENT_FILE
        .globl kDlaunchAgentEnd
kDlaunchAgentEnd:
        .byte 0
        .section .note.GNU-stack,"",@progbits
