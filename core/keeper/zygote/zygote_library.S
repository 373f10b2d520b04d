/* The shared library of zygote_fork.h as bytes in this program. */
	.section .rodata
	.balign 16
	.globl zygote_library
	.globl zygote_library_end
zygote_library:
	.incbin ZYGOTE_LIBRARY
zygote_library_end:
	.section .note.GNU-stack,"",%progbits
