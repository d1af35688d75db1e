/* Asynchronous copies and products, each thread's own: a thread keeps what it has started in groups, and only waits
 * and fences let others see it. That the threads of a warpgroup issue the same products is checked against a list that
 * the first of them to come writes.
 *
 * A product decodes its descriptors by the definitions (PTX ISA, "Matrix Descriptor Format", "Strides", "Canonical
 * Layouts") and knows nothing of the code that makes them. */
#include "asynchronous.h"
#include "internal.h"

#include <algorithm>
#include <vector>

namespace emulation {

namespace {

constexpr int INNER_BYTES = 32, WARPGROUP = 128; /* of the inner axis in a product; threads */
constexpr uint32_t WINDOW_MASK = 0x3FFFF;
constexpr char ABSENT = static_cast<char>(0xFF); /* bytes of NaN */

struct Copy {
    char *shared;
    const void *global;
    size_t nbytes, valid;
    size_t group;
};

struct Started {
    Product product;
    size_t group;
};

struct Flow { /* a thread's */
    size_t copy_groups = 0, product_groups = 0;
    std::vector<Copy> copies; /* not waited for */
    std::vector<Copy> landed; /* waited for, and not visible to the async proxy */
    bool fenced = false;
    float *sums = nullptr;      /* registers that products write */
    std::vector<float> values; /* what they will hold */
    std::vector<Started> products;
    size_t issued = 0;
};

std::vector<Flow> flows;                     /* none until a thread of the block needs its own */
size_t block_threads;
std::vector<std::vector<Product>> sequences; /* of each warpgroup */
char *window;                                /* dynamic shared memory */
size_t window_bytes;
std::vector<char> picture; /* of it, in the async proxy */
bool products_are_wrong;

Flow &flow()
{
    if (flows.empty()) {
        flows.resize(block_threads);
        sequences.assign((block_threads + WARPGROUP - 1) / WARPGROUP, {});
        picture.assign(window_bytes, ABSENT);
    }
    return flows[current_thread()];
}

void refuse(const std::string &what)
{
    if (failure.empty())
        failure = what + " by " + describe_current_thread();
}

/* The async proxy's picture of what a copy writes; null outside of dynamic shared memory. */
char *picture_of(const Copy &copy)
{
    const bool inside = copy.shared >= window && copy.shared + copy.nbytes <= window + window_bytes;
    return inside ? &picture[static_cast<size_t>(copy.shared - window)] : nullptr;
}

void arrive(const Copy &copy)
{
    memset(copy.shared, 0, copy.nbytes);
    if (copy.valid)
        memcpy(copy.shared, copy.global, copy.valid);
}

/* --- the operands of products ------------------------------------------------------------------------------------- */
struct Descriptor {
    uint32_t start, leading, stride, base;
    uint32_t shift; /* of a line's bytes: 7, 6, 5, and 4 for no swizzling */
};

Descriptor decode(uint64_t bits)
{
    constexpr uint32_t SHIFTS[] = {4, 7, 6, 5};
    constexpr uint64_t UNUSED = uint64_t{3} << 14 | uint64_t{3} << 30 | uint64_t{7} << 46 | uint64_t{0x3FF} << 52;
    const auto field = [&](int place) { return static_cast<uint32_t>(bits >> place & 0x3FFF) << 4; };
    if (bits & UNUSED)
        refuse("a matrix descriptor with unused bits set is passed to wgmma");
    return {field(0), field(16), field(32), static_cast<uint32_t>(bits >> 49 & 7), SHIFTS[bits >> 62]};
}

/* The address of an element, before swizzling. `place` is the row of x or the column of y. Only halves may be transposed. */
uint32_t linear_address(const Descriptor &matrix, bool transposed, uint32_t place, uint32_t inner, uint32_t item)
{
    const uint32_t line = 1u << matrix.shift, halves = line / 2, along = inner * item;
    if (!transposed && line == 16) /* ((8,m),(T,2)) : ((1T,SBO),(1,LBO)) */
        return matrix.start + place % 8 * 16 + place / 8 * matrix.stride + along % 16 + along / 16 * matrix.leading;
    if (!transposed) /* ((8,m),(T,2)) : ((line,SBO),(1,T)) */
        return matrix.start + place % 8 * line + place / 8 * matrix.stride + along;
    if (line == 16) /* ((T,1,m),(8,k)) : ((1,T,SBO),(1T,LBO)) */
        return matrix.start + place % 8 * 2 + place / 8 * matrix.stride + inner % 8 * 16 + inner / 8 * matrix.leading;
    /* ((T,line/T,m),(8,k)) : ((1,T,LBO),(line,SBO)) */
    return matrix.start + (place & (halves - 1)) * 2 + (place >> (matrix.shift - 1)) * matrix.leading +
           inner % 8 * line + inner / 8 * matrix.stride;
}

/* Swizzle<shift - 4, 4, 3>: as many bits from bit 4 on are changed by those from bit 7 on. */
uint32_t swizzle(uint32_t address, uint32_t shift)
{
    const uint32_t bits = (1u << (shift - 4)) - 1;
    return address ^ (address >> 7 & bits) << 4;
}

uint32_t read(const Descriptor &matrix, bool transposed, uint32_t place, uint32_t inner, uint32_t item)
{
    const uint32_t linear = linear_address(matrix, transposed, place, inner, item) & WINDOW_MASK;
    const uint32_t offset = swizzle(linear, matrix.shift) - shared_address(window);
    if (offset + item > window_bytes || offset + item < item) {
        refuse("wgmma reads outside of dynamic shared memory");
        return 0xFFFFFFFF;
    }
    uint32_t bits = 0; /* of a host that begins with the lowest byte */
    memcpy(&bits, &picture[offset], item);
    return item == 4 ? bits & ~0x1FFFu : bits; /* which TF32 has not */
}

/* The thread's fragment of the sums: warp w of the group has the rows from 16 w on; of each eight columns a lane has
 * columns 2 (lane % 4) and the next, in rows lane / 4 and lane / 4 + 8. */
void add_product(const Product &product, std::vector<float> &sums)
{
    const Descriptor x = decode(product.x), y = decode(product.y);
    if (x.base || y.base)
        refuse("a matrix descriptor with a base offset, which is not emulated, is passed to wgmma");
    const uint32_t thread = static_cast<uint32_t>(current_thread() % WARPGROUP), lane = thread % 32;
    const uint32_t row = thread / 32 * 16 + lane / 4;
    if (product.item != 2 && (product.x_transposed || product.y_transposed))
        refuse("wgmma with transposed operands that are no halves");
    float left[2][INNER_BYTES / 2];
    const uint32_t steps = INNER_BYTES / product.item;
    for (uint32_t inner = 0; inner < steps; inner++)
        for (uint32_t half = 0; half < 2; half++)
            left[half][inner] = product.number(read(x, product.x_transposed, row + 8 * half, inner, product.item));
    for (uint32_t pair = 0; pair < sums.size() / 2; pair += 2) {
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t column = pair * 4 + 2 * (lane % 4) + i;
            float upper = sums[2 * pair + i], lower = sums[2 * pair + 2 + i];
            for (uint32_t inner = 0; inner < steps; inner++) {
                const float right = product.number(read(y, product.y_transposed, column, inner, product.item));
                upper += left[0][inner] * right;
                lower += left[1][inner] * right;
            }
            sums[2 * pair + i] = upper;
            sums[2 * pair + 2 + i] = lower;
        }
    }
    if (products_are_wrong && thread == 77)
        sums.front() += 1.0f;
}

/* --- registers ---------------------------------------------------------------------------------------------------- */
bool is_absent(const float *sums, size_t count)
{
    const char *bytes = reinterpret_cast<const char *>(sums);
    return std::all_of(bytes, bytes + count * sizeof *sums, [](char byte) { return byte == ABSENT; });
}

void check_sequence(const Product &product, size_t number)
{
    std::vector<Product> &sequence = sequences[current_thread() / WARPGROUP];
    if (number == sequence.size())
        sequence.push_back(product);
    const Product &first = sequence[number];
    if (first.x != product.x || first.y != product.y || first.columns != product.columns || first.item != product.item ||
        first.x_transposed != product.x_transposed || first.y_transposed != product.y_transposed)
        refuse("wgmma with other operands than by the rest of the warpgroup");
}

} // namespace

void start_block(size_t threads, char *shared, size_t nbytes)
{
    window = shared;
    window_bytes = nbytes;
    block_threads = threads;
    flows.clear();
}

void finish_block()
{
    for (size_t thread = 0; thread < flows.size(); thread++) {
        const size_t group = thread / WARPGROUP;
        const bool whole = (group + 1) * WARPGROUP <= flows.size();
        if (!flows[thread].products.empty() || flows[thread].sums)
            failure = "a thread ended before its products: wgmma.wait_group is missing";
        else if (flows[thread].issued != sequences[group].size() || (flows[thread].issued && !whole))
            failure = "not all threads of a warpgroup issued the same wgmma";
    }
}

void break_products(bool broken) { products_are_wrong = broken; }

uint32_t shared_address(const void *shared)
{
    /* The window begins with what the system keeps; a kernel may count on 16 bytes of alignment. */
    constexpr uint32_t BEGIN = 1024 + 16;
    return BEGIN + static_cast<uint32_t>(static_cast<const char *>(shared) - window);
}

void copy_async(void *shared, const void *global, int nbytes, int valid)
{
    Flow &mine = flow();
    const auto size = static_cast<size_t>(nbytes);
    if (reinterpret_cast<uintptr_t>(shared) % size || reinterpret_cast<uintptr_t>(global) % size || valid < 0 ||
        valid > nbytes) {
        refuse("cp.async from or to an address that is no multiple of its size, or of more bytes,");
        return;
    }
    mine.copies.push_back({static_cast<char *>(shared), global, size, static_cast<size_t>(valid), mine.copy_groups});
    if (char *there = picture_of(mine.copies.back()))
        memset(there, ABSENT, size);
    if (reversed())
        arrive(mine.copies.back());
}

void commit_copies() { flow().copy_groups++; }

void wait_for_copies(int groups)
{
    Flow &mine = flow();
    const auto waited = [&](const Copy &copy) { return copy.group + static_cast<size_t>(groups) < mine.copy_groups; };
    size_t count = 0;
    for (; count < mine.copies.size() && waited(mine.copies[count]); count++) {
        if (!reversed())
            arrive(mine.copies[count]);
        mine.landed.push_back(mine.copies[count]);
    }
    mine.copies.erase(mine.copies.begin(), mine.copies.begin() + static_cast<ptrdiff_t>(count));
}

void publish_copies()
{
    for (const Copy &copy : flow().landed)
        if (char *there = picture_of(copy))
            memcpy(there, copy.shared, copy.nbytes);
    flow().landed.clear();
}

void begin_products() { flow().fenced = true; }

void multiply_async(const Product &product, float *sums)
{
    Flow &mine = flow();
    const size_t count = static_cast<size_t>(product.columns) / 2;
    if (!mine.fenced)
        refuse("wgmma without wgmma.fence before the first of its group");
    if (mine.sums && mine.sums != sums)
        refuse("wgmma into other sums than those in flight, which is not emulated,");
    check_sequence(product, mine.issued++);
    if (!mine.sums) {
        mine.sums = sums;
        mine.values.assign(sums, sums + count);
        memset(sums, ABSENT, count * sizeof *sums);
    }
    mine.products.push_back({product, mine.product_groups});
    if (!reversed())
        add_product(product, mine.values);
}

void commit_products()
{
    flow().product_groups++;
    flow().fenced = false;
}

void wait_for_products(int groups)
{
    Flow &mine = flow();
    size_t count = 0;
    for (; count < mine.products.size(); count++) {
        if (mine.products[count].group + static_cast<size_t>(groups) >= mine.product_groups)
            break;
        if (reversed())
            add_product(mine.products[count].product, mine.values);
    }
    mine.products.erase(mine.products.begin(), mine.products.begin() + static_cast<ptrdiff_t>(count));
    if (!mine.sums || !mine.products.empty())
        return;
    if (!is_absent(mine.sums, mine.values.size()))
        refuse("sums were written while wgmma was still writing them,");
    std::copy(mine.values.begin(), mine.values.end(), mine.sums);
    mine.sums = nullptr;
}

} // namespace emulation
