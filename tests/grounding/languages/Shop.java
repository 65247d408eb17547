/* A shop: every kind of thing that Java lets a file define. */
package corner.shops;

import static java.util.Objects.requireNonNull;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * The shop itself.
 *
 * @param <T> what it sells
 */
@Audited("money")
public abstract class Shop<T extends Order>
        extends Base<T>
        implements Priced, AutoCloseable {

    /** How many customers fit in. */
    public static final int MAX_CUSTOMERS = 40, MAX_DOORS = 2;

    private static final List<String> REGISTRY;

    static {
        REGISTRY = new ArrayList<>();
        REGISTRY.add("corner");
    }

    protected volatile int visits;

    private final String name;

    private int prices[] = {1, 2}, total;

    @Deprecated
    private final Function<Order, String> describe =
            order -> {
                String words = "an order";
                return words + order;
            };

    private final Listener listener = new Listener() {
        private int heard;

        @Override
        public void onSale(Order order) {
            heard += 1;
        }
    };

    {
        visits = 1;
    }

    protected Shop(String name) {
        this.name = requireNonNull(name);

        visits = 0;
    }

    /** Opens a shop of a size. */
    public Shop(
            String name,
            int size) throws ShopException {
        this(name);

        if (size < 0) {
            throw new ShopException("debt");
        }
    }

    public static <U extends Order> Shop<U> create(
            final String name,
            int... sizes) {
        Shop<U> made = null;

        return made;
    }

    protected abstract void store(T item);

    public native int ringBell(int times);

    @Override
    @SuppressWarnings({"unchecked", "rawtypes"})
    public synchronized int price() {
        int net = prices[0];

        return net * 6 / 5;
    }

    @Override
    public void close() throws Exception {
        visits = 0;

        REGISTRY.remove(name);
    }

    public int count() {
        class Visit {
            int door;
        }

        record Seen(int door) {}

        Function<Integer, Integer> audit = sum -> {
            int rounded = sum / 10;
            return rounded;
        };

        counting:
        for (int door = 0; door < MAX_DOORS; door++) {
            if (door > 2) {
                break counting;
            }
        }

        return audit.apply(total);
    }

    /** One shelf. */
    static class Shelf {
        int height;

        Shelf(int height) {
            this.height = height;
        }

        class Box {
            int width() {
                return height;
            }
        }
    }

    public interface Listener {
        int LOUDNESS = 3;

        void onSale(Order order);

        default void onClose() {
            int quiet = LOUDNESS - 3;

            System.out.println(quiet);
        }

        static Listener silent() {
            return order -> {};
        }
    }
}

/** What can be priced. */
sealed interface Priced permits Shop {
    int price();
}

enum Kind implements Labelled {
    FRESH(2),

    /** Lasts. */
    @Deprecated
    CANNED(900) {
        @Override
        public String label() {
            String text = "canned";

            return text;
        }
    },

    FROZEN(90);

    private final int days;

    Kind(int days) {
        this.days = days;
    }

    @Override
    public String label() {
        return name().toLowerCase();
    }
}

interface Labelled {
    String label();
}

enum Direction { IN, OUT }

record Order(
        String article,
        @Positive int cents,
        List<String>... notes) {

    static final Order NOTHING = new Order("", 0);

    Order {
        if (cents < 0) {
            throw new IllegalArgumentException("debt");
        }
    }

    Order(String article) {
        this(article, 0);
    }

    Order twice() {
        int doubled = cents * 2;

        return new Order(article, doubled);
    }
}

@interface Audited {
    String value();

    int level() default 1;

    Kind[] kinds() default {};
}

final class ShopException extends Exception {
    private static final long serialVersionUID = 1L;

    ShopException(String message) {
        super(message);
    }
}

abstract class Base<T> {
    protected abstract void store(T item);
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
