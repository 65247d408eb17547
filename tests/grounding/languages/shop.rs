//! A shop: every kind of thing that Rust lets a file define.

#![allow(dead_code)]

extern crate alloc;
extern crate core as kernel;

use std::cell::{Cell as Slot, RefCell};
use std::collections::HashMap as Shelves;
use std::fmt::{self, Display};

pub mod shelf;

/// How many customers fit in.
pub const MAX_CUSTOMERS: usize = 40;

/// The name over the door.
pub static SHOP_NAME: &str = "Corner";

static mut OPENINGS: u32 = 0;

thread_local! {
    /// Customers seen by this thread.
    pub static VISITS: Slot<u32> = Slot::new(0);
    static LAST_VISIT: RefCell<Option<u64>> = const { RefCell::new(None) };
}

lazy_static! {
    static ref REGISTRY: Shelves<String, Stock> = {
        let mut shelves = Shelves::new();
        shelves.insert("bread".to_string(), Stock::default());
        shelves
    };
}

bitflags! {
    #[derive(Clone, Copy)]
    pub struct Rights: u32 {
        const READ_STOCK = 0b01;
        const WRITE_STOCK = 0b10;
    }
}

/// Money in cents.
pub type Cents = u64;

type Checker<'a> =
    Box<dyn Fn(&Order) -> Result<(), ShopError> + Send + 'a>;

/// A stock of one article.
#[derive(Debug, Clone, Default)]
pub struct Stock {
    /// How many are left.
    pub quantity: u32,
    #[allow(dead_code)]
    price: Cents,
    r#type: Option<Kind>,
}

pub struct Order<'a, T>
where
    T: Display,
{
    lines: Vec<&'a T>,
    paid: bool,
}

pub struct Receipt(pub Cents, String);

struct Closed;

#[repr(C)]
pub union Measure {
    grams: u32,
    litres: f32,
}

#[derive(Debug, Clone)]
pub enum Kind {
    /// Goes bad.
    Fresh { days_left: u8 },
    Canned(u16),
    Frozen,
    Unknown = 99,
}

#[derive(Debug)]
pub enum ShopError {
    SoldOut(String),
    NotOpen,
}

/// What can be priced.
pub trait Priced: Send {
    /// Of what it is a price.
    type Currency: Display;
    const TAX_RATE: f64;

    fn price(&self) -> Cents;

    fn taxed_price(&self) -> Cents {
        let net = self.price() as f64;
        let gross = net * Self::TAX_RATE;

        gross.round() as Cents
    }
}

pub unsafe trait Sealed {}

impl Stock {
    pub const EMPTY: Stock = Stock { quantity: 0, price: 0, r#type: None };

    /// Fills a shelf.
    #[must_use]
    pub fn new(quantity: u32, price: Cents) -> Self {
        let r#type = None;

        Self { price, quantity, r#type }
    }

    pub async fn restock(
        &mut self,
        amount: u32,
        supplier: &str,
    ) -> Result<u32, ShopError> {
        if supplier.is_empty() {
            return Err(ShopError::SoldOut(supplier.to_string()));
        }

        self.quantity += amount;
        Ok(self.quantity)
    }

    pub(crate) const unsafe fn raw_quantity(&self) -> u32 {
        self.quantity
    }

    fn total(&self) -> Cents {
        fn with_tax(net: Cents) -> Cents {
            let tax = net / 5;
            net + tax
        }

        let discount = |gross: Cents| {
            let off = gross / 10;
            gross - off
        };

        'search: for shelf in 0..self.quantity {
            if shelf > 10 {
                break 'search;
            }
        }

        discount(with_tax(self.price))
    }
}

impl Priced for Stock {
    type Currency = String;
    const TAX_RATE: f64 = 1.2;

    fn price(&self) -> Cents {
        let each = self.price;

        each * Cents::from(self.quantity)
    }
}

impl<'a, T> Order<'a, T>
where
    T: Display,
{
    fn pay(mut self) -> Receipt {
        self.paid = true;
        let count = self.lines.len();

        Receipt(count as Cents, String::new())
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Receipt(cents, who) = self;

        write!(f, "{cents} for {who}")
    }
}

impl From<Cents> for Receipt {
    fn from(cents: Cents) -> Self {
        let nobody = String::new();

        Receipt(cents, nobody)
    }
}

impl<T> Drop for Guard<T> {
    fn drop(&mut self) {
        // Nothing is left to do.
        let _ = &self.inner;
    }
}

pub(crate) struct Guard<T> {
    inner: T,
}

/// Makes an order of what it is given.
#[macro_export]
macro_rules! order {
    ($($line:expr),* $(,)?) => {{
        let mut lines = Vec::new();
        $(lines.push(&$line);)*
        Order { lines, paid: false }
    }};
}

cfg_unix! {
    /// Locks the door.
    pub fn lock_door(times: u32) -> bool {
        let turned = times * 2;

        turned > 2
    }

    pub struct Door {
        handle: u32,
    }

    impl Door {
        fn knock(&self) -> u32 {
            let heard = self.handle;

            heard + 1
        }
    }
}

extern "C" {
    fn shop_bell(times: i32) -> i32;
    static bell_volume: i32;
}

pub extern "C" fn ring_bell(times: i32) -> i32 {
    let twice = times * 2;

    unsafe { shop_bell(twice) }
}

mod back_office {
    use super::Stock as Goods;

    pub(super) fn count_goods(goods: &[Goods]) -> usize {
        let counted = goods.len();

        counted
    }

    pub mod safe {
        pub fn open_safe() {}
    }
}

pub use back_office::count_goods as count_all;

pub fn open_shop<F>(on_open: F) -> impl Iterator<Item = u32>
where
    F: FnOnce(),
{
    on_open();

    let mut customers = 0;
    std::iter::from_fn(move || {
        customers += 1;
        Some(customers)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_in_the_morning() {
        let first = open_shop(|| {}).next();

        assert_eq!(first, Some(1));
    }
}

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
