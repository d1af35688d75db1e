/* What a bare Cortex-M7 needs before main: vectors, memory, the floating-point unit; and words out by semihosting. */
#include "board.h"

#include <string.h>

extern uint32_t __data_source, __data_start, __data_end, __bss_start, __bss_end, __stack;
int main(void);

static int semihost(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void leave(uint32_t code)
{
    const uint32_t block[2] = { 0x20026, code }; /* ADP_Stopped_ApplicationExit */
    semihost(0x20, block);                       /* SYS_EXIT_EXTENDED */
    for (;;) {
    }
}

void print_text(const char *text)
{
    semihost(0x04, text); /* SYS_WRITE0 */
}

void print_words(const char *name, const void *data, int count)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;
    char line[2 * 64 + 2];
    print_text(name);
    print_text(" ");
    for (int at = 0; at < count;) {
        int used = 0;
        for (; at < count && used < 128; ++at) {
            line[used++] = digits[bytes[at] >> 4];
            line[used++] = digits[bytes[at] & 15];
        }
        line[used] = 0;
        print_text(line);
    }
    print_text("\n");
}

/* SysTick counts down 24 bits; under -icount one instruction is one nanosecond, and a tick is 40 of them (25 MHz). */
#define SYST_CSR (*(volatile uint32_t *)0xe000e010)
#define SYST_RVR (*(volatile uint32_t *)0xe000e014)
#define SYST_CVR (*(volatile uint32_t *)0xe000e018)
#define CPACR (*(volatile uint32_t *)0xe000ed88)
static volatile uint32_t wraps;

static void on_tick(void)
{
    ++wraps;
}

void start_counting(void)
{
    wraps = 0;
    SYST_RVR = 0xffffff;
    SYST_CVR = 0;
    SYST_CSR = 7;
}

uint32_t ticks(void)
{
    const uint32_t left = SYST_CVR;
    SYST_CSR = 0;
    return wraps * 0x1000000u + (0xffffffu - left);
}

void reset(void);
static void fault(void)
{
    print_text("fault\n");
    leave(2);
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    &__stack, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault, 0,
    0,        0,             0,             (void *)fault, (void *)fault, 0,             (void *)fault, (void *)on_tick,
};

void reset(void)
{
    CPACR |= 0xfu << 20; /* both halves of the floating-point unit: Armv7-M manual, B3.2.20 */
    __asm__ volatile("dsb\n isb");
    memcpy(&__data_start, &__data_source, (size_t)((char *)&__data_end - (char *)&__data_start));
    memset(&__bss_start, 0, (size_t)((char *)&__bss_end - (char *)&__bss_start));
    leave((uint32_t)main());
}
