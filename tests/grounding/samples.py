# ruff: noqa: E501 - a sample reads best beside what it defines
"""One small file per grammar, and the definitions it holds: `owner.name:line`, with the innermost owner and the line of the name."""

from __future__ import annotations

SAMPLES: dict[str, tuple[str, str, str]] = {
    "python": (
        "m.py",
        '''LIMIT = 3
if LIMIT:
    FLAG: bool = True


@decorator
@other(
    1
)
class Shop(Base):
    """Doc."""

    size: int = 4

    def __init__(self):
        self.stock = []

    @property
    async def total(self): ...


type Alias = int
''',
        "LIMIT:1 FLAG:3 Shop:10 Shop.size:13 Shop.__init__:15 __init__.stock:16 Shop.total:19 "
        "Alias:22",
    ),
    "javascript": (
        "m.mjs",
        """export const LIMIT = 3;
class Shop extends Base {
  #stock = [];
  static open() {}
  get total() { return 1; }
}
function* walk() {}
const add = (a) => a;
exports.close = function () {};
const routes = { index() {}, show: () => 1 };
""",
        "LIMIT:1 Shop:2 Shop.#stock:3 Shop.open:4 Shop.total:5 walk:7 add:8 exports.close:9 "
        "routes:10 routes.index:10 routes.show:10",
    ),
    "typescript": (
        "m.ts",
        """export interface Shape { area(): number; name: string }
export type Id = string;
export enum Color { Red, Green = 2 }
export abstract class Shop {
  private stock: string[] = [];
  constructor(private readonly db: Db) {}
  abstract total(): number;
  @logged()
  open<T>(x: T): void {}
}
namespace Inner { export const deep = 1; }
declare function outside(): void;
""",
        "Shape:1 Shape.area:1 Shape.name:1 Id:2 Color:3 Color.Red:3 Color.Green:3 Shop:4 "
        "Shop.stock:5 Shop.constructor:6 constructor.db:6 Shop.total:7 Shop.open:9 Inner:11 "
        "Inner.deep:11 outside:12",
    ),
    "tsx": (
        "m.tsx",
        """export function Page({ id }: Props) { return <div onClick={go}>text {id}</div>; }
const Card: FC = () => <p/>;
""",
        "Page:1 Card:2",
    ),
    "go": (
        "m.go",
        """package m

const Limit = 3

var (
	ErrGone = errors.New("x")
)

type Engine struct {
	pool sync.Pool
}

type Handler interface {
	Serve(c *Context)
}

type Alias = int

func (engine *Engine) ServeHTTP(w W) {}
func (l List[T]) Len() int { return 0 }
func New() *Engine { return nil }
""",
        "Limit:3 ErrGone:6 Engine:9 Engine.pool:10 Handler:13 Handler.Serve:14 Alias:17 "
        "Engine.ServeHTTP:19 List.Len:20 New:21",
    ),
    "rust": (
        "m.rs",
        """pub const LIMIT: u8 = 3;
pub static NAME: &str = "x";
#[derive(Debug)]
pub struct Router<S> { routes: Vec<S> }
pub enum Either { Left(u8), Right }
pub trait Layer<S> { type Service; fn layer(&self); }
impl<S> Router<S> { pub fn new() -> Self { Router { routes: vec![] } } }
impl<S> Layer<S> for Router<S> { type Service = S; fn layer(&self) {} }
macro_rules! go { () => {} }
mod inner { pub fn deep() {} }
type Alias = u8;
""",
        "LIMIT:1 NAME:2 Router:4 Router.routes:4 Either:5 Either.Left:5 Either.Right:5 "
        "Layer:6 Layer.Service:6 Layer.layer:6 Router:7 Router.new:7 Layer:8 Router:8 "
        "Router.Service:8 Router.layer:8 go:9 inner:10 inner.deep:10 Alias:11",
    ),
    "java": (
        "M.java",
        """package m;
public class Shop extends Base {
  private static final int LIMIT = 3;
  public Shop() {}
  @Override
  public int total() { return 1; }
  enum Color { RED, GREEN }
  interface Shape { double area(); }
  record Point(int x, int y) {}
  @interface Mark { String value(); }
}
""",
        "Shop:2 Shop.LIMIT:3 Shop.Shop:4 Shop.total:6 Shop.Color:7 Color.RED:7 Color.GREEN:7 "
        "Shop.Shape:8 Shape.area:8 Shop.Point:9 Point.x:9 Point.y:9 Shop.Mark:10 "
        "Mark.value:10",
    ),
    "c": (
        "m.c",
        """#define LIMIT 3
#define MAX(a, b) ((a) > (b) ? (a) : (b))
typedef struct node { int value; struct node *next; } node_t;
enum color { RED, GREEN };
static int counter = 0;
char *name_of(node_t *n);
int main(void) { return 0; }
static char *name_of(node_t *n) { return 0; }
typedef int (*handler_t)(int);
""",
        "LIMIT:1 MAX:2 node_t.node:3 node.value:3 node.next:3 node_t:3 color:4 color.RED:4 "
        "color.GREEN:4 counter:5 name_of:6 main:7 name_of:8 handler_t:9",
    ),
    "cpp": (
        "m.cpp",
        """namespace shop {
template <typename T>
class Stock : public Base {
 public:
  Stock();
  int total() const { return 1; }
  T items_;
};
using Alias = int;
enum class Color { Red };
}
template <typename T>
int shop::Stock<T>::count() { return 0; }
void Shop::open(int x) {}
int Shop::limit = 3;
#define LIMIT 3
""",
        "shop:1 shop.Stock:3 Stock.Stock:5 Stock.total:6 Stock.items_:7 shop.Alias:9 "
        "shop.Color:10 Color.Red:10 Stock.count:13 Shop.open:14 Shop.limit:15 LIMIT:16",
    ),
    "ruby": (
        "m.rb",
        """module Shop
  LIMIT = 3
  class Stock < Base
    attr_reader :items, :size
    def initialize
      @cache = {}
    end
    def self.open(x) = x
    def empty?; end
  end
end
""",
        "Shop:1 Shop.LIMIT:2 Shop.Stock:3 Stock.items:4 Stock.size:4 Stock.initialize:5 "
        "initialize.cache:6 Stock.open:8 Stock.empty?:9",
    ),
    "php": (
        "m.php",
        """<?php
namespace App;
const LIMIT = 3;
define('OTHER', 1);
interface Shape { public function area(): float; }
trait Loud { }
enum Color: string { case Red = 'r'; }
class Shop extends Base {
  const SIZE = 2;
  private array $stock = [];
  public function __construct(private Db $db) {}
  public static function open(): void {}
}
function helper() {}
""",
        "App:2 LIMIT:3 OTHER:4 Shape:5 Shape.area:5 Loud:6 Color:7 Color.Red:7 Shop:8 "
        "Shop.SIZE:9 Shop.stock:10 Shop.__construct:11 __construct.db:11 Shop.open:12 "
        "helper:14",
    ),
    "c_sharp": (
        "M.cs",
        """namespace Shop.Core;
public interface IShape { double Area(); }
public enum Color { Red, Green }
public record Point(int X, int Y);
public class Stock : Base
{
    private const int Limit = 3;
    public string Name { get; set; }
    public event Action Changed;
    public Stock() {}
    [Obsolete]
    public int Total() { int Local() => 1; return Local(); }
    public delegate void Handler(int x);
}
""",
        "Shop.Core:1 IShape:2 IShape.Area:2 Color:3 Color.Red:3 Color.Green:3 Point:4 "
        "Point.X:4 Point.Y:4 Stock:5 Stock.Limit:7 Stock.Name:8 Stock.Changed:9 "
        "Stock.Stock:10 Stock.Total:12 Total.Local:12 Stock.Handler:13",
    ),
    "kotlin": (
        "m.kt",
        """package m
const val LIMIT = 3
typealias Alias = Int
interface Shape {
    fun area(): Double
}
enum class Color { RED, GREEN }
object Single {
    val one = 1
}
class Stock(val db: Db) : Base() {
    var size: Int = 0
    companion object Maker {
        fun open() = 1
    }
    fun total(): Int = 1
}
fun String.shout() = uppercase()
""",
        "LIMIT:2 Alias:3 Shape:4 Shape.area:5 Color:7 Color.RED:7 Color.GREEN:7 Single:8 "
        "Single.one:9 Stock:11 Stock.db:11 Stock.size:12 Stock.Maker:13 Maker.open:14 "
        "Stock.total:16 String.shout:18",
    ),
    "scala": (
        "m.scala",
        """package m
trait Shape { def area: Double }
object Single { val one = 1 }
case class Point(x: Int, y: Int) extends Shape {
  type Id = Int
  var size = 0
  def total(): Int = 1
}
enum Color { case Red, Green }
""",
        "m:1 Shape:2 Shape.area:2 Single:3 Single.one:3 Point:4 Point.x:4 Point.y:4 "
        "Point.Id:5 Point.size:6 Point.total:7 Color:9 Color.Red:9 Color.Green:9",
    ),
    "swift": (
        "m.swift",
        """let limit = 3
protocol Shape { func area() -> Double; var name: String { get } }
enum Color { case red, green }
typealias Alias = Int
struct Point { var x: Int }
class Stock: Base {
  init(db: Db) {}
  func total() -> Int { return 1 }
}
extension Stock { func open() {} }
""",
        "limit:1 Shape:2 Shape.area:2 Shape.name:2 Color:3 Color.red:3 Color.green:3 Alias:4 "
        "Point:5 Point.x:5 Stock:6 Stock.init:7 Stock.total:8 Stock:10 Stock.open:10",
    ),
    "bash": (
        "m.sh",
        """LIMIT=3
function open() { local x=1; }
close() { :; }
export PATH_TO=1
""",
        "LIMIT:1 open:2 open.x:2 close:3 PATH_TO:4",
    ),
    "haskell": (
        "M.hs",
        "module M where\n\ndata Shape = Circle Double | Square\nnewtype Id = Id Int\ntype Alias = Int\nclass Loud a where\n  shout :: a -> String\n\n"
        "total :: Int -> Int\ntotal x = x\n",
        "M:1 Shape:3 Shape.Circle:3 Shape.Square:3 Id:4 Id.Id:4 Alias:5 Loud:6 Loud.shout:7 "
        "total:9 total:10",
    ),
    "lua": (
        "m.lua",
        "local limit = 3\nlocal function open() end\nfunction Shop.close() end\nfunction Shop:total() end\nM.size = 1\n",
        "limit:1 open:2 Shop.close:3 Shop.total:4 M.size:5",
    ),
    "elixir": (
        "m.ex",
        "defmodule Shop.Stock do\n  @limit 3\n  def open(x), do: x\n  defp close(x) when x > 1 do\n    x\n  end\n  defmacro go, do: 1\nend\n",
        "Shop.Stock:1 Stock.limit:2 Stock.open:3 Stock.close:4 Stock.go:7",
    ),
    "julia": (
        "m.jl",
        "module Shop\nconst LIMIT = 3\nstruct Point\n  x::Int\nend\nfunction total(a)\n  a\nend\nshort(a) = a\nmacro go() end\nend\n",
        "Shop:1 Shop.LIMIT:2 Shop.Point:3 Point.x:4 Shop.total:6 Shop.short:9 Shop.go:10",
    ),
    "perl": (
        "M.pm",
        "package Shop::Stock;\nsub open { return 1; }\n1;\n",
        "Shop.Stock:1 open:2",
    ),
    "r": (
        "m.R",
        "limit <- 3\ntotal <- function(x) { x }\nother = 1\n",
        "limit:1 total:2 other:3",
    ),
    "sql": (
        "m.sql",
        "CREATE TABLE shop (id INT, name TEXT);\nCREATE VIEW v AS SELECT 1;\n",
        "shop:1 shop.id:1 shop.name:1 v:2",
    ),
    "ocaml": (
        "m.ml",
        "let limit = 3\ntype shape = Circle of int | Square\nmodule Shop = struct let total x = x end\nexception Gone\n",
        "limit:1 shape:2 shape.Circle:2 shape.Square:2 Shop:3 Shop.total:3 Gone:4",
    ),
    "erlang": (
        "m.erl",
        "-module(m).\n-record(shop, {size}).\nopen(X) -> X.\n",
        "m:1 shop:2 shop.size:2 open:3",
    ),
    "hcl": (
        "m.tf",
        'resource "aws_vpc" "main" {\n  cidr = "192.0.2.0/24"\n}\n',
        "resource:1 aws_vpc:1 main:1 main.cidr:2",
    ),
    "objc": (
        "m.m",
        "#define LIMIT 3\n@interface Shop : Base\n- (int)total;\n@end\n@implementation Shop\n- (int)total { return 1; }\n@end\nint main(void) { return 0; }\n",
        "LIMIT:1 Shop:2 Shop.total:3 Shop:5 Shop.total:6 main:8",
    ),
}
