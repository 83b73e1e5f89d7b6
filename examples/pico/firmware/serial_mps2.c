/* The serial line of Arm's boards MPS2 (CMSDK APB UART, Cortex-M System Design Kit, 4.3), and how a program begins there. */
#include "serial.h"

struct Uart {
  volatile unsigned int data, state, control, interrupts, divider;
};
#define LINE ((struct Uart*)UART)

void serial_begin(void) {
  LINE->divider = 16;
  LINE->control = 3; /* it sends and receives */
}
int serial_get(void) {
  while (!(LINE->state & 2)) {
  }
  return (int)(LINE->data & 0xFF);
}
void serial_put(char c) {
  while (LINE->state & 1) {
  }
  LINE->data = (unsigned char)c;
}
/* SYS_EXIT of semihosting (Arm's document 100863) ends QEMU. */
void serial_end(void) {
  register int r0 __asm__("r0") = 0x18;
  register unsigned int r1 __asm__("r1") = 0x20026u;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

extern char stack_top[], bss_begin[], bss_end[];
int main(void);

void reset(void);
void reset(void) {
  char* at;
#ifdef __ARM_FP
  *(volatile unsigned int*)0xE000ED88u |= 0xFu << 20; /* access to the floating-point unit */
  __asm__ volatile("dsb\n isb" : : : "memory");
#endif
  for (at = bss_begin; at != bss_end; ++at) *at = 0;
  main();
  for (;;) serial_end();
}
static void fault(void) {
  for (;;) serial_end();
}
__attribute__((section(".vectors"), used)) const void* const vectors[16] = {
    stack_top, (const void*)reset, (const void*)fault, (const void*)fault,
    (const void*)fault, (const void*)fault, (const void*)fault};
