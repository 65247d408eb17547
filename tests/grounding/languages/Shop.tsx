/** A shop's page: what TypeScript lets a file with markup define. */
import * as React from "react";
import { createContext, memo, useState as useStock } from "react";

type ShopProps = {
  name: string;
  onSale?: (article: string) => void;
};

interface ShelfProps<T> extends React.HTMLAttributes<HTMLElement> {
  items: readonly T[];
  render(item: T): React.ReactNode;
}

export const ShopContext = createContext<ShopProps | null>(null);

/** The whole page. */
export default function ShopPage({ name, onSale }: ShopProps): JSX.Element {
  const [stock, setStock] = useStock<string[]>([]);
  const { length: left } = stock;

  const handleSale = (article: string) => {
    setStock(stock.filter((one) => one !== article));

    onSale?.(article);
  };

  function renderShelf(article: string) {
    return (
      <li key={article} onClick={() => handleSale(article)}>
        {article}
      </li>
    );
  }

  return (
    <ShopContext.Provider value={{ name, onSale }}>
      <h1>
        {name}: {left}
      </h1>
      <ul>{stock.map(renderShelf)}</ul>
    </ShopContext.Provider>
  );
}

export function Shelf<T extends { id: string }>({
  items,
  render,
}: ShelfProps<T>) {
  const rows = items.map((item) => <li key={item.id}>{render(item)}</li>);

  return <ul>{rows}</ul>;
}

export const Banner: React.FC<{ text: string }> = ({ text }) => (
  <header>
    <strong>{text}</strong>
  </header>
);

export const Counter = memo(function CounterInner(props: { start: number }) {
  const [count, setCount] = useStock(props.start);

  return <button onClick={() => setCount(count + 1)}>{count}</button>;
});

export class ErrorBoundary extends React.Component<ShopProps, { failed: boolean }> {
  static displayName = "ErrorBoundary";

  state = { failed: false };

  #reported = 0;

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  private report = (): void => {
    this.#reported += 1;
  };

  render() {
    if (this.state.failed) {
      this.report();

      return <p>Closed</p>;
    }
    return this.props.children;
  }
}

Banner.displayName = "Banner";

export function useShop(): ShopProps {
  const shop = React.useContext(ShopContext);

  if (!shop) throw new Error("no shop");
  return shop;
}

const LazyShop = React.lazy(() => import("./Shop"));

export { LazyShop as DeferredShop };

enum Tab {
  Stock = "stock",
  Orders = "orders",
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
