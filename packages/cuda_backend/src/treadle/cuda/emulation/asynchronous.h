/* The asynchronous instructions of the kernels, for the host: copies to shared memory (PTX ISA, "cp.async") and the
 * products of a warpgroup (PTX ISA, "wgmma"). What the programs may not rely on is taken to the extreme, in the forward
 * schedule one way and in the reversed schedule the other:
 *
 *              copies arrive                products read their operands
 *   forward    when they are waited for     when they are issued
 *   reversed   when they are issued         when they are waited for
 *
 * The sums of a product hold a pattern of NaN until it is waited for. The async proxy, through which products read, has
 * its own picture of the dynamic shared memory: what a copy writes is NaN there until the thread that started it has
 * waited for it and passed a proxy fence. Operands that are written otherwise than by copies are not seen. */
#ifndef TREADLE_EMULATION_ASYNCHRONOUS_H
#define TREADLE_EMULATION_ASYNCHRONOUS_H

#include <cstddef>
#include <cstdint>

namespace emulation {

/* The address of dynamic shared memory in its own window. */
uint32_t shared_address(const void *shared);

void copy_async(void *shared, const void *global, int nbytes, int valid);
void commit_copies();
void wait_for_copies(int groups);
void publish_copies();

struct Product {
    int columns;
    uint64_t x, y; /* matrix descriptors */
    bool x_transposed, y_transposed;
    uint32_t item;             /* bytes of an element; 32 bytes of the inner axis are a product */
    float (*number)(uint32_t bits);
};

void begin_products();
void multiply_async(const Product &product, float *sums);
void commit_products();
void wait_for_products(int groups);

/* Let every product from now on be wrong in one element: what the check of the instruction is there to find. */
void break_products(bool broken);

} // namespace emulation

#endif
