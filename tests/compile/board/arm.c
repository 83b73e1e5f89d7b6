/* What a Cortex-M does before main(), and how it speaks to who debugs it: semihosting (Arm's document 100863). */
#include "board.h"

extern char stack_top[], bss_begin[], bss_end[];
int main(void);

static int ask(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}
void say(const char* text) { ask(0x04, text); }

void say_number(const char* what, long number) {
  char digits[24];
  char* at = digits + sizeof digits;
  *--at = 0;
  *--at = '\n';
  do *--at = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  say(what);
  say(" ");
  say(at);
}

/* SysTick (Armv7-M Architecture Reference Manual, B3.3) counts downwards. */
#define SYST_CSR (*(volatile unsigned int*)0xE000E010u)
#define SYST_RVR (*(volatile unsigned int*)0xE000E014u)
#define SYST_CVR (*(volatile unsigned int*)0xE000E018u)
unsigned long ticks(void) { return 0xFFFFFFu - SYST_CVR; }

/* The last words before the stack: a stack that grew into them has overwritten them. */
#define CANARY 0x5AFEC0DEu
extern unsigned int canary[4];

static void leave(int status) {
  int i;
  for (i = 0; i < 4; ++i)
    if (canary[i] != CANARY) {
      say("the stack has overflowed\n");
      status = 5;
    }
  const unsigned int extended[2] = {0x20026u, (unsigned int)status};
  ask(0x20, extended);                                 /* SYS_EXIT_EXTENDED */
  ask(0x18, (const void*)(status ? 0x20023u : 0x20026u)); /* SYS_EXIT, where that is not known */
  for (;;) {
  }
}

static void fault(void) {
  say("a fault\n");
  leave(3);
}

void reset(void);
void reset(void) {
  char* at;
  int i;
#ifdef __ARM_FP
  /* Access to the floating-point unit (Armv7-M Architecture Reference Manual, B3.2.20). */
  *(volatile unsigned int*)0xE000ED88u |= 0xFu << 20;
  __asm__ volatile("dsb\n isb" : : : "memory");
#endif
  for (at = bss_begin; at != bss_end; ++at) *at = 0;
  for (i = 0; i < 4; ++i) canary[i] = CANARY;
  SYST_RVR = 0xFFFFFFu;
  SYST_CVR = 0;
  SYST_CSR = 5; /* it runs, by the processor's clock, without interrupts */
  leave(main());
}

__attribute__((section(".vectors"), used)) const void* const vectors[16] = {
    stack_top,          (const void*)reset, (const void*)fault, (const void*)fault,
    (const void*)fault, (const void*)fault, (const void*)fault};
