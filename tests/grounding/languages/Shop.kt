@file:JvmName("Shops")

package shop.core

import java.util.concurrent.ConcurrentHashMap as Shelves
import kotlin.reflect.KProperty

/** How many customers fit in. */
const val MAX_CUSTOMERS = 40

val openingHours: IntRange = 8..18

@Volatile
internal var customersSeen: Long = 0

lateinit var registry: Registry

private val shelves by lazy {
    val made = Shelves<String, Stock>()
    made
}

val (firstAisle, lastAisle) = Pair(1, 12)

/** Says whether an order is fine. */
typealias Checker<T> = (T) -> Boolean

val isCheap: Checker<Order> = { order ->
    val limit = 100

    order.cents < limit
}

val describe = fun(order: Order): String {
    val words = "an order"
    return words + order.cents
}

/**
 * What can be priced.
 */
interface Priced {
    val cents: Int

    val taxed: Int
        get() = cents * 120 / 100

    fun price(): Int

    fun describe(): String {
        val amount = price()

        return "costs $amount"
    }
}

fun interface Listener {
    fun onSale(order: Order)
}

@Target(AnnotationTarget.CLASS)
annotation class Audited(val why: String)

enum class Kind(val days: Int) {
    FRESH(2) {
        override fun label(): String {
            val text = "fresh"
            return text
        }
    },

    /** Lasts. */
    CANNED(900),
    FROZEN(90);

    open fun label(): String = name.lowercase()

    companion object {
        fun longest(): Kind {
            return entries.maxBy { it.days }
        }
    }
}

@JvmInline
value class Cents(val amount: Int)

data class Order(
    override val cents: Int,
    /** Who pays. */
    val customer: String,
    private var note: String? = null,
    @Transient var paid: Boolean = false,
) : Priced {
    override fun price(): Int = cents
}

sealed class Result<out T> {
    data class Sold<T>(val value: T) : Result<T>()

    data object SoldOut : Result<Nothing>()

    sealed interface Failure {
        val reason: String
    }
}

object Registry {
    private val known = mutableMapOf<String, Shop>()

    @JvmStatic
    fun register(
        name: String,
        shop: Shop,
    ): Shop? {
        val before = known[name]
        known[name] = shop

        return before
    }
}

/**
 * The shop itself.
 */
@Audited("money")
open class Shop private constructor(
    val name: String,
    protected val stock: MutableList<Order>,
    size: Int,
) : Listener {
    var open: Boolean = false
        private set

    var till: Int = size
        get() = field + 1
        set(value) {
            require(value >= 0)

            field = value
        }

    private val listeners: MutableList<Listener> by lazy {
        mutableListOf()
    }

    init {
        require(name.isNotEmpty())

        stock.clear()
    }

    constructor(name: String) : this(name, mutableListOf(), 0) {
        till = 10

        open = true
    }

    internal constructor() : this("nameless")

    override fun onSale(order: Order) {
        stock += order

        till += order.cents
    }

    suspend inline fun <reified T : Order> sell(
        order: T,
        crossinline after: (T) -> Unit,
    ): Result<T> where T : Priced {
        val sold = Result.Sold(order)

        after(order)
        return sold
    }

    operator fun plus(order: Order): Shop {
        stock.add(order)

        return this
    }

    operator fun get(index: Int): Order = stock[index]

    infix fun sells(order: Order): Boolean = order in stock

    fun `is open on sundays`(): Boolean {
        val sunday = 7

        return sunday in openingHours
    }

    fun countCustomers(): Int {
        fun visible(door: Int): Int {
            val seen = door + 1

            return seen
        }

        val audit = { total: Int ->
            val rounded = total / 10
            rounded
        }

        val counter = object : Listener {
            override fun onSale(order: Order) {
                customersSeen += 1
            }
        }

        counting@ for (door in 1..3) {
            if (door > 2) break@counting
        }

        return audit(visible(2))
    }

    inner class Shelf(val height: Int) {
        fun reach(): Int = height + 1

        inner class Box {
            fun unpack() = reach()
        }
    }

    companion object {
        const val DEFAULT_NAME = "Corner"

        @JvmField
        val EMPTY = Shop()

        fun create(name: String): Shop {
            val made = Shop(name)

            return made
        }
    }
}

class Stock {
    companion object Factory {
        fun refill(): Stock {
            val fresh = Stock()

            return fresh
        }
    }
}

abstract class Warehouse<T : Any> {
    abstract val capacity: Int

    protected abstract fun store(item: T)

    @Deprecated("use store")
    open fun put(item: T) {
        val wrapped = item

        store(wrapped)
    }
}

class Delegated(private val inner: Listener) : Listener by inner {
    operator fun getValue(owner: Any?, property: KProperty<*>): String = property.name
}

fun Shop.close(): Boolean {
    val before = open

    return before
}

fun <T> List<T>.secondOrNull(): T? = getOrNull(1)

fun String?.orNameless(): String = this ?: "nameless"

fun Shop.Shelf.dust() {
    println(height)
}

val Shop.isEmpty: Boolean
    get() {
        val left = name.length

        return left == 0
    }

var Order?.comment: String
    get() = this?.customer.orEmpty()
    set(value) {
        println(value)
    }

tailrec fun countDown(from: Int): Int {
    val next = from - 1

    return if (next < 0) 0 else countDown(next)
}

expect class Clock {
    fun now(): Long
}

external fun nativeBell(times: Int): Int

private operator fun Cents.times(other: Int): Cents = Cents(amount * other)

// The end of the street: nothing below is of the shop.
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
