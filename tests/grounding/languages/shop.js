"use strict";

/** A shop: every kind of thing that JavaScript lets a file define. */

const fs = require("node:fs");
const { EventEmitter: Emitter, once } = require("node:events");
const [firstAisle, , lastAisle = 12, ...otherAisles] = readAisles();

/** How many customers fit in. */
const MAX_CUSTOMERS = 40;

let opened = false,
  closed = true;

var legacyName = "Corner";

const {
  name: shopName,
  address: { street = "High Street", ...place },
} = readSettings();

/**
 * Opens a shop.
 *
 * @param {string} name
 */
function openShop(name) {
  const shop = new Shop(name);

  function announce(words) {
    const loud = words.toUpperCase();

    console.log(loud);
  }

  const count = (door) => {
    const seen = door + 1;

    return seen;
  };

  visiting: for (const door of [1, 2, 3]) {
    if (count(door) > 2) break visiting;
  }

  announce(shop.name);
  return shop;
}

async function restock(shop, articles) {
  await once(shop, "ready");

  shop.stock.push(...articles);
}

function* walk(shop) {
  for (const shelf of shop.stock) {
    yield shelf;
  }
}

async function* watch(shop) {
  yield* walk(shop);
}

class Shop extends Emitter {
  static DEFAULT_NAME = "Corner";

  static #made = 0;

  #till = 0;

  stock = [];

  "quoted field" = 1;

  handler = (order) => {
    this.stock.push(order);

    this.emit("sale");
  };

  static {
    Shop.#made = 1;
  }

  constructor(name) {
    super();
    this.name = name;

    this.visits = 0;
  }

  get till() {
    return this.#till;
  }

  set till(value) {
    if (value < 0) throw new RangeError("debt");

    this.#till = value;
  }

  sell(order) {
    const receipt = this.#print(order);

    return receipt;
  }

  #print(order) {
    const line = `${order.article}: ${order.price}`;

    return line;
  }

  static create(name) {
    const made = new Shop(name);

    return made;
  }

  async *orders() {
    yield* this.stock;
  }

  *[Symbol.iterator]() {
    yield* this.stock;
  }

  ["computed name"]() {
    return 1;
  }
}

const isCheap = (order) => order.price < 100;

const describe = function describeOrder(order) {
  const words = "an order";

  return words + order.article;
};

const Shelf = class ShelfClass {
  reach() {
    return this.height + 1;
  }
};

const routes = {
  index: () => openShop("index"),
  show(id) {
    const found = shelves.get(id);

    return found;
  },
  get current() {
    return opened;
  },
  async refresh() {
    await restock(null, []);
  },
  remove: function removeRoute(id) {
    shelves.delete(id);
  },
  "sold-out": { status: 410 },
  nested: {
    deep: 1,
  },
};

const shelves = new Map();

function Door(width) {
  this.width = width;
}

Door.prototype.knock = function () {
  const heard = this.width + 1;

  return heard;
};

Door.standard = new Door(80);

openShop.defaults = { size: 3 };

Object.defineProperty(Door, "wide", { value: true });

exports.openShop = openShop;

exports.closeShop = function closeShop(shop) {
  shop.opened = false;

  return shop;
};

module.exports.restock = restock;

module.exports = {
  Shop,
  opener: openShop,
  helper(shop) {
    return shop.name;
  },
};

(function bootstrap() {
  const ready = true;

  console.log(ready);
})();

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
