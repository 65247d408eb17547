/* A shop: every kind of thing that C lets a file define. */

#include <stddef.h>
#include <stdio.h>

#define MAX_CUSTOMERS 40
#define EACH_SHELF(shelf, shop) \
    for ((shelf) = (shop)->first; \
         (shelf) != NULL; \
         (shelf) = (shelf)->next)

#ifdef WITH_DOOR
#define DOOR_WIDTH 80
static int door_count = 1;
#else
static int door_count = 0;
#endif

/* Money in cents. */
typedef unsigned long cents_t;

typedef int (*checker_t)(const struct order *order, void *context);

typedef char label_t[32], *label_ptr_t;

struct customer;

/**
 * One shelf.
 */
struct shelf {
    int height;
    struct shelf *next;
    char name[16];
    const char *const *labels;
    unsigned int is_full : 1, is_dusty : 1;
    int (*on_sale)(struct shelf *shelf, int amount);
    union {
        int grams;
        float litres;
    } measure;
    struct {
        int row, column;
    };
};

typedef struct order {
    int id;
    cents_t price;
} order_t;

typedef struct {
    struct shelf *first;
    int count;
} shop_t;

union amount {
    int pieces;
    double weight;
};

enum kind {
    KIND_FRESH,
    /* Lasts. */
    KIND_CANNED = 2,
    KIND_FROZEN
};

typedef enum { DOOR_OPEN, DOOR_CLOSED } door_state;

enum { ANONYMOUS_LIMIT = 7 };

int opened;

static const char *shop_name = "Corner", *street_name;

extern int customers_seen;

const int prices[] = {1, 2, 3};

static int (*handlers[2])(int) = {NULL, NULL};

static struct shelf top_shelf = {
    .height = 3,
    .next = NULL,
};

struct point {
    int x, y;
} origin, *cursor;

static volatile int visits;

__attribute__((unused)) static double tax_rate = 1.2;

int open_shop(const char *name);

static struct shelf *find_shelf(shop_t *shop, int height);

extern void ring_bell(int times), lock_door(void);

char **list_names(void);

void (*pick_handler(int which))(int);

int open_shop(const char *name)
{
    int total = 0;

    for (int i = 0; i < MAX_CUSTOMERS; i++) {
        if (name[i] == '\0')
            goto done;
        total += i;
    }

done:
    printf("%s\n", name);
    return total;
}

static struct shelf *
find_shelf(shop_t *shop, int height)
{
    struct shelf *shelf;

    for (shelf = shop->first; shelf; shelf = shelf->next) {
        if (shelf->height == height)
            return shelf;
    }
    return NULL;
}

static inline cents_t taxed(cents_t net)
{
    static int calls;

    calls++;
    return net * 6 / 5;
}

char **list_names(void)
{
    static char *names[3];

    return names;
}

void (*pick_handler(int which))(int)
{
    (void)which;

    return NULL;
}

int sum_prices(count, list)
    int count;
    int *list;
{
    int sum = 0;

    while (count-- > 0)
        sum += *list++;
    return sum;
}

__attribute__((noreturn))
void close_shop(void)
{
    struct visit {
        int door;
    } last_visit;

    for (;;)
        last_visit.door++;
}

#if defined(WITH_BELL)
void ring_bell(int times)
{
    while (times-- > 0)
        putchar('\a');
}
#endif

int main(int argc, char **argv)
{
    shop_t shop = {0};

    return argc > 1 && open_shop(argv[1]) && shop.count;
}

// The end of the street: below this line there is no more of it.
//
//
//
//
//
//
//
//
//
//
//
//
// Nothing here.
//
//
//
//
//
//
