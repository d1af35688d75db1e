#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

void print_text(const char *text);
void print_words(const char *name, const void *data, int count); /* bytes in hexadecimal */
void start_counting(void);
uint32_t ticks(void); /* since start_counting; 40 instructions each */

#endif
