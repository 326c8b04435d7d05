/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coroutines for the emulator: each has a stack, runs until it yields, and is resumed there. On
 * x86-64 switching is a dozen instructions; elsewhere the C library's contexts do, at the price
 * of a system call each.
 */
#ifndef FB_TESTS_CUDA_COROUTINE_H
#define FB_TESTS_CUDA_COROUTINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { EMU_STACK = 64 << 10 };

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

struct emu_coroutine {
	void *sp; /* while it does not run */
	void (*function)(void *arg);
	void *arg;
	_Alignas(16) unsigned char stack[EMU_STACK];
};

static struct emu_coroutine *emu_running;
static void *emu_scheduler_sp;

/* Saves what a function must keep, and goes on where `to` was saved. */
void emu_swap(void **from, void *to);
__asm__(".text\n"
	".type emu_swap, @function\n"
	"emu_swap:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n"
	"	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n"
	"	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n"
	".size emu_swap, .-emu_swap\n");

static void emu_entry(void)
{
	struct emu_coroutine *c = emu_running;

	c->function(c->arg);
	emu_swap(&c->sp, emu_scheduler_sp);
	abort();
}

/* A coroutine that begins with function(arg); its memory is used again. */
static inline void emu_prepare(struct emu_coroutine **coroutine, void (*function)(void *arg),
			       void *arg)
{
	struct emu_coroutine *c = *coroutine ? *coroutine : aligned_alloc(16, sizeof(*c));
	uintptr_t *top;

	if (!c)
		abort();
	*coroutine = c;
	c->function = function;
	c->arg = arg;
	/* As if called: the stack is 8 off a multiple of 16 when a function begins. */
	top = (uintptr_t *)(void *)(c->stack + EMU_STACK) - 2;
	*top = (uintptr_t)emu_entry;
	c->sp = top - 6;
}

static inline void emu_resume(struct emu_coroutine *c)
{
	emu_running = c;
	emu_swap(&emu_scheduler_sp, c->sp);
}

static inline void emu_yield(void)
{
	emu_swap(&emu_running->sp, emu_scheduler_sp);
}

#else

#include <ucontext.h>

struct emu_coroutine {
	ucontext_t context;
	void (*function)(void *arg);
	void *arg;
	_Alignas(16) unsigned char stack[4 * EMU_STACK];
};

static struct emu_coroutine *emu_running;
static ucontext_t emu_scheduler;

static void emu_entry(void)
{
	emu_running->function(emu_running->arg);
	swapcontext(&emu_running->context, &emu_scheduler);
	abort();
}

static inline void emu_prepare(struct emu_coroutine **coroutine, void (*function)(void *arg),
			       void *arg)
{
	struct emu_coroutine *c = *coroutine ? *coroutine : aligned_alloc(16, sizeof(*c));

	if (!c || getcontext(&c->context))
		abort();
	*coroutine = c;
	c->function = function;
	c->arg = arg;
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = sizeof(c->stack);
	c->context.uc_link = NULL;
	makecontext(&c->context, emu_entry, 0);
}

static inline void emu_resume(struct emu_coroutine *c)
{
	emu_running = c;
	swapcontext(&emu_scheduler, &c->context);
}

static inline void emu_yield(void)
{
	swapcontext(&emu_running->context, &emu_scheduler);
}

#endif

#endif
