// A shop: every kind of thing that C++ lets a file define.

#include <functional>
#include <map>
#include <string>

#define MAX_CUSTOMERS 40
#define CHECK_PRICE(price) \
  do {                     \
    if ((price) < 0) return; \
  } while (false)

namespace fs = std::filesystem;

namespace shop {

using Cents = long;

template <typename Key>
using Shelves = std::map<Key, int>;

typedef unsigned int Count;

class Order;

// How much of it is tax.
constexpr double kTaxRate = 1.2;

const char *const kShopName = "Corner", *street_name = nullptr;

static int opened{0};

extern int customers_seen;

inline std::string motto = "open all day";

std::map<std::string, int> registry = {
    {"bread", 1},
    {"salt", 2},
};

int (*handler)(int) = nullptr;

template <typename T>
constexpr T kPi = T(3.14);

auto is_cheap = [](int price) {
  const int limit = 100;

  return price < limit;
};

const auto [first_aisle, last_aisle] = aisles();

#ifdef WITH_DOOR
int door_count = 1;
#else
int no_door = 0;
#endif

/// What can be priced.
template <typename T>
concept Priced = requires(T item) {
  { item.price() };
};

enum Direction { kIn, kOut = 4 };

enum class Kind : unsigned char {
  Fresh,
  Canned = 2,
};

struct Point {
  int x = 0, y;
  double weight : 3;
  union {
    int grams;
    float litres;
  };
};

union Amount {
  int pieces;
  double weight;
};

/**
 * The shop itself.
 */
class SHOP_EXPORT Shop final : public Base<Shop>, private Door {
 public:
  using Listener = std::function<void(const Order &)>;

  static constexpr int kShelves = 3;

  static int made;

  Shop();

  explicit Shop(std::string name) : name_(std::move(name)) {
    made += 1;

    opened = 1;
  }

  Shop(const Shop &other) = delete;

  Shop(Shop &&other) noexcept = default;

  virtual ~Shop();

  Shop &operator=(const Shop &other);

  Shop &operator=(Shop &&other) noexcept {
    name_ = other.name_;

    return *this;
  }

  bool operator==(const Shop &other) const { return name_ == other.name_; }

  auto operator<=>(const Shop &other) const = default;

  Order &operator[](std::size_t at) {
    const auto place = at + 1;

    return orders_[place];
  }

  Order *operator->();

  int operator()(int door) const {
    const int seen = door + 1;

    return seen;
  }

  explicit operator bool() const { return opened > 0; }

  operator std::string() const;

  void *operator new(std::size_t size);

  Shop &operator++();

  virtual Cents price() const = 0;

  [[nodiscard]] static Shop *create(
      const std::string &name,
      int size = 3) {
    auto *made_shop = new Shop(name);

    return made_shop;
  }

  template <typename Visitor>
  void visit(Visitor &&visitor) const {
    for (const auto &order : orders_) {
      visitor(order);
    }
  }

  const std::string &name() const &;

  auto total() const -> Cents;

  friend std::ostream &operator<<(std::ostream &out, const Shop &shop);

  friend void audit(const Shop &shop) {
    shop.price();
  }

  enum State { kOpen, kClosed };

  struct Shelf {
    int height;

    void dust() {
      height -= 1;

      opened = 0;
    }
  };

 protected:
  std::string name_;
  mutable std::vector<Order> orders_{};
  Shelf *shelf_ = nullptr, **shelves_;
  int prices_[8];
  void (*on_sale_)(int);

 private:
  typedef int Till;

  class Impl;
};

template <typename T, int Size = 4>
class Stack : public Base<T> {
 public:
  void push(T item);

  T pop() {
    T top = items_[--count_];

    return top;
  }

 private:
  T items_[Size];
  int count_ = 0;
};

template <>
class Stack<bool> {
  int bits_;
};

template <typename T>
struct Box {
  T content;

  Box(T inner) : content(inner) {}
};

template <typename T>
Box(T) -> Box<T>;

Shop::Shop() : Shop("nameless") {
  made += 1;

  opened = 1;
}

Shop::~Shop() {
  made -= 1;

  opened = 0;
}

Shop &Shop::operator=(const Shop &other) {
  if (this == &other) return *this;

  name_ = other.name_;
  return *this;
}

Shop::operator std::string() const {
  auto text = name_;

  return text;
}

int Shop::made = 0;

const std::string &Shop::name() const & {
  static int calls = 0;

  calls += 1;
  return name_;
}

auto Shop::total() const -> Cents {
  Cents sum = 0;

  auto add = [&sum](const Order &order) {
    sum += order.price;
  };

  for (const auto &order : orders_) add(order);
  return sum;
}

template <typename T, int Size>
void Stack<T, Size>::push(T item) {
  items_[count_] = item;

  count_ += 1;
}

bool operator<(const Shop &one, const Shop &other) {
  const auto before = one.name() < other.name();

  return before;
}

Cents operator"" _euro(unsigned long long amount) {
  const auto cents = amount * 100;

  return static_cast<Cents>(cents);
}

template <typename T>
T largest(const T &one, const T &other) {
  const bool is_first = one > other;

  return is_first ? one : other;
}

static void lock_door(int times);

void lock_door(int times) {
  CHECK_PRICE(times);

  struct Visit {
    int door;
  };

  if (times > 2) goto done;
done:
  opened = 0;
}

namespace {
int hidden_count = 0;

void hide() {
  hidden_count += 1;
}
}  // namespace

inline namespace v2 {
int current_version = 2;
}

}  // namespace shop

namespace street::corner::door {
bool handle = true;
}

extern "C" {
int bell_volume = 3;

void ring_bell(int times) {
  bell_volume += times;
}
}

extern "C" int shop_main(void);

class shop::Shop::Impl {
  int secret_;
};

template <>
struct std::hash<shop::Order> {
  std::size_t operator()(const shop::Order &order) const noexcept;
};

TEST_F(ShopTest, OpensInTheMorning) {
  const auto made = shop::Shop::create("corner");

  EXPECT_TRUE(made);
}

int main(int argc, char **argv) {
  shop::Shop corner(argv[0]);

  return argc;
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
