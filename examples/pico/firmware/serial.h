/* The serial line, by the SDK of Raspberry Pi or by the registers of QEMU's board. */
#ifndef SERIAL_H
#define SERIAL_H

void serial_begin(void);
int serial_get(void); /* waits for a byte */
void serial_put(char c);
void serial_end(void); /* ends the program, where one can end */

#endif
