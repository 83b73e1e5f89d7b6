/* What a test's program asks of the board that it runs on. */
#ifndef BOARD_H
#define BOARD_H

/* Says something to who debugs the board. */
void say(const char* text);
void say_number(const char* what, long number);
/* A Cortex-M's clock, which counts to 2^24 and begins anew. */
unsigned long ticks(void);

#endif
