// A shop: every kind of thing that C# lets a file define.
#define WITH_DOOR

extern alias Legacy;

using System;
using System.Collections.Generic;
using Shelves = System.Collections.Generic.Dictionary<string, int>;

namespace Corner.Shops
{
    /// <summary>Says whether an order is fine.</summary>
    public delegate bool Checker(Order order);

    /// <summary>What can be priced.</summary>
    public interface IPriced<T> : IDisposable
        where T : struct
    {
        T Price { get; }

        event EventHandler PriceChanged;

        T this[int at] { get; }

        T Taxed(double rate);

        static abstract T Parse(string text);

        string Describe()
        {
            var words = "costs";

            return words + Price;
        }
    }

    [Flags]
    public enum Kind : byte
    {
        Fresh,

        /// <summary>Lasts.</summary>
        Canned = 2,

        [Obsolete("melts")]
        Frozen = 4,
    }

    public readonly struct Cents
    {
        public readonly int Amount;

        public Cents(int amount)
        {
            Amount = amount;

            Check();
        }

        private void Check() => Math.Abs(Amount);

        public static Cents operator +(Cents one, Cents other)
        {
            var sum = one.Amount + other.Amount;

            return new Cents(sum);
        }

        public static bool operator ==(Cents one, Cents other) => one.Amount == other.Amount;

        public static bool operator !=(Cents one, Cents other) => !(one == other);

        public static Cents operator -(Cents one) => new(-one.Amount);

        public static Cents operator ++(Cents one) => new(one.Amount + 1);

        public static bool operator true(Cents one) => one.Amount > 0;

        public static bool operator false(Cents one) => one.Amount <= 0;

        public static implicit operator string(Cents cents)
        {
            var text = cents.Amount.ToString();

            return text;
        }

        public static explicit operator Cents(int amount) => new(amount);
    }

    public record Order(string Article, Cents Price)
    {
        public string? Note { get; init; }

        public Order Twice()
        {
            var doubled = this with { Note = "twice" };

            return doubled;
        }
    }

    public record struct Point(int X, int Y);

    public static class ShopExtensions
    {
        public static bool IsOpen(this Shop shop)
        {
            var hour = DateTime.Now.Hour;

            return hour > 8;
        }
    }

    /// <summary>
    /// The shop itself.
    /// </summary>
    [Serializable]
    [Audited("money")]
    public abstract partial class Shop : Base<Order>, IPriced<int>
    {
        public const int MaxCustomers = 40, MaxDoors = 2;

        private static readonly object Lock = new();

        protected internal volatile int visits;

        private readonly List<Order> _orders = new()
        {
            new Order("bread", default),
            new Order("salt", default),
        };

        private Action<Order> _onSale = order => Console.WriteLine(order);

        static Shop()
        {
            Registry = new Shelves();

            Registry["corner"] = 1;
        }

        protected Shop(string name, int size = 3)
            : base(name)
        {
            Name = name;

            Size = size;
        }

        ~Shop()
        {
            Console.WriteLine("closed");

            visits = 0;
        }

        public static Shelves Registry { get; }

        public string Name { get; private set; }

        public required int Size { get; init; }

        public int Left => MaxCustomers - visits;

        public virtual string Motto
        {
            get => _motto;
            set
            {
                ArgumentNullException.ThrowIfNull(value);

                _motto = value;
            }
        }

        private string _motto = "open";

        public Order this[int at]
        {
            get
            {
                var place = at + 1;

                return _orders[place];
            }
            set => _orders[at] = value;
        }

        public event EventHandler<Order>? Sold;

        public event EventHandler Opened
        {
            add
            {
                lock (Lock) _opened += value;
            }
            remove => _opened -= value;
        }

        private EventHandler? _opened;

        protected abstract void Close();

        [Obsolete("use Restock")]
        public async Task<int> Sell<T>(
            T order,
            params string[] notes)
            where T : Order
        {
            await Task.Delay(1);

            _orders.Add(order);
            return _orders.Count;
        }

        public override string ToString()
        {
            var words = Name;

            return words;
        }

        int IPriced<int>.Price => 3;

        int IPriced<int>.Taxed(double rate)
        {
            var net = 3;

            return (int)(net * rate);
        }

        void IDisposable.Dispose()
        {
            visits -= 1;

            GC.SuppressFinalize(this);
        }

        public int Count()
        {
            const int step = 1;

            int Visible(int door)
            {
                var seen = door + step;

                return seen;
            }

            Func<int, int> audit = total =>
            {
                var rounded = total / 10;
                return rounded;
            };

            Action quiet = delegate { visits = 0; };

            if (visits > 3) goto Done;
            quiet();

        Done:
            return audit(Visible(2));
        }

        public IEnumerable<Order> Walk()
        {
            foreach (var order in _orders)
            {
                yield return order;
            }
        }

        private sealed class Shelf(int height)
        {
            public int Height { get; } = height;

            internal struct Box
            {
                public int Width;
            }

            private enum State
            {
                Dusty,
            }
        }

        [DllImport("bell")]
        private static extern int RingBell(int times);

        partial void OnOpened();

        private unsafe fixed int prices[8];
    }

    public class Stack<TItem>
    {
        private TItem[] items = Array.Empty<TItem>();

        public TItem Pop()
        {
            var top = items[^1];

            return top;
        }
    }

#if WITH_DOOR
    internal class Door
    {
        public bool Locked;
    }
#endif
}

namespace Street
{
    namespace Inner
    {
        class House
        {
            int rooms;
        }
    }
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
