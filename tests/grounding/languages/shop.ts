/** A shop: every kind of thing that TypeScript lets a file define. */

import fs = require("node:fs");
import * as path from "node:path";
import { EventEmitter as Emitter, once } from "node:events";
import type { Readable as Stream } from "node:stream";

import Shelves = Warehouse.Inner;

/** How many customers fit in. */
export const MAX_CUSTOMERS = 40;

export let opened = false, closed = true;

var legacyName: string | undefined;

declare const BUILD_TIME: number;

const { name: shopName, address: { street, number = 1 }, ...others } = readSettings();

export const [firstAisle, , lastAisle = 12, [nestedAisle]] = aisles();

/** Money in cents. */
export type Cents = number;

export type Receipt = {
  readonly id: string;
  lines: {
    article: string;
    "unit-price": Cents;
  }[];
  print?(copies: number): void;
};

type Optional<T> = {
  [Key in keyof T]?: T[Key];
};

type Checker = (
  order: Order,
) => boolean;

/**
 * What can be priced.
 */
export interface Priced<T extends number = Cents> extends Iterable<T> {
  readonly price: T;
  discount?: number;
  (quantity: number): T;
  new (price: T): Priced<T>;
  [article: string]: unknown;
  taxed(rate: number): T;
  get total(): T;
  onSale: (order: Order) => void;
}

export enum Kind {
  Fresh,
  /** Lasts. */
  Canned = 2,
  "deep-frozen" = 3,
}

declare enum Ambient {
  One = 1,
}

const enum Direction {
  In = "in",
  Out = "out",
}

function Audited(why: string): ClassDecorator {
  return (target) => {
    console.log(why, target);
  };
}

export abstract class Base<T> {
  protected abstract readonly capacity: number;

  abstract store(item: T): void;

  protected abstract get left(): number;
}

/**
 * The shop itself.
 */
@Audited("money")
export class Shop<T extends Order = Order> extends Base<T> implements Iterable<T> {
  static readonly DEFAULT_NAME = "Corner";

  static #made = 0;

  #till: Cents = 0;

  private orders: T[] = [];

  declare registry: Map<string, Shop>;

  public readonly openedAt?: Date;

  accessor visits = 0;

  "quoted field" = 1;

  [index: number]: T;

  static {
    Shop.#made = 1;
  }

  constructor(
    public readonly name: string,
    private stock: Map<string, number>,
    readonly owner: string,
    protected note?: string,
    size = 3,
  ) {
    super();
    this.size = size;

    this.registry = new Map();
  }

  size: number;

  protected readonly capacity = MAX_CUSTOMERS;

  protected get left(): number {
    const used = this.orders.length;

    return this.capacity - used;
  }

  set till(value: Cents) {
    if (value < 0) throw new RangeError("debt");

    this.#till = value;
  }

  get till(): Cents {
    return this.#till;
  }

  sell(order: T): Receipt;
  sell(order: T, copies: number): Receipt[];
  @logged()
  sell(order: T, copies = 1): Receipt | Receipt[] {
    const receipt = this.#print(order);

    return copies > 1 ? [receipt] : receipt;
  }

  #print(order: T): Receipt {
    const lines = [{ article: order.article, "unit-price": order.price }];

    return { id: "1", lines };
  }

  static async create<U extends Order>(
    name: string,
    { stock = new Map() }: { stock?: Map<string, number> } = {},
  ): Promise<Shop<U>> {
    await once(new Emitter(), "ready");

    return new Shop<U>(name, stock, "nobody");
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const order of this.orders) {
      yield order;
    }
  }

  async *watch(): AsyncGenerator<T> {
    yield* this.orders;
  }

  onSale = (order: T): void => {
    this.orders.push(order);

    this.visits += 1;
  };

  override store(item: T): void {
    this.orders.push(item);
  }
}

export interface Order {
  article: string;
  price: Cents;
}

export function openShop(name: string): Shop;
export function openShop(name: string, size: number): Shop;
export function openShop(name: string, size?: number): Shop {
  const shop = new Shop(name, new Map(), "me", undefined, size);

  function announce(words: string): void {
    const loud = words.toUpperCase();

    console.log(loud);
  }

  const count = (door: number): number => {
    const seen = door + 1;

    return seen;
  };

  visiting: for (const door of [1, 2, 3]) {
    if (count(door) > 2) break visiting;
  }

  announce(shop.name);
  return shop;
}

export async function* stream(source: Stream): AsyncIterable<Order> {
  for await (const chunk of source) {
    yield JSON.parse(String(chunk));
  }
}

export const isCheap: Checker = (order) => {
  const limit = 100;

  return order.price < limit;
};

const describe = function describeOrder(order: Order): string {
  const words = "an order";

  return words + order.article;
};

export const Shelf = class ShelfClass {
  height = 1;

  reach(): number {
    return this.height + 1;
  }
};

export const routes = {
  index: () => openShop("index"),
  show(id: string) {
    const found = shelves.get(id);

    return found;
  },
  get current() {
    return opened;
  },
  "sold-out": { status: 410 },
  nested: {
    deep: 1,
  },
} as const;

const shelves = new Map<string, Order>();

openShop.defaults = { size: 3 };

Shop.prototype.close = function (this: Shop) {
  opened = false;

  return this;
};

function isOrder(value: unknown): value is Order {
  const candidate = value as Order;

  return typeof candidate.article === "string";
}

namespace Warehouse {
  export const rows = 3;

  export namespace Inner {
    export function dust(): void {
      console.log(rows);
    }
  }
}

export namespace Street.Corner.Door {
  export let handle = true;
}

declare module "shop-plugin" {
  export function install(shop: Shop): void;

  interface PluginOptions {
    eager: boolean;
  }
}

declare global {
  interface Window {
    shop: Shop;
  }

  var shopReady: boolean;
}

declare function nativeBell(times: number): void;

declare class Clock {
  static now(): number;
}

export { shelves as allShelves, describe, Warehouse as default };

export * as helpers from "./helpers";

export type { Order as ShopOrder } from "./order";

export default function (): void {
  openShop("default");
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
