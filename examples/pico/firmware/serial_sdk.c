#include "pico/stdlib.h"
#include "serial.h"

void serial_begin(void) { stdio_init_all(); }
int serial_get(void) {
  int c;
  do c = getchar_timeout_us(1000000);
  while (c < 0);
  return c;
}
void serial_put(char c) { putchar_raw(c); }
void serial_end(void) {}
