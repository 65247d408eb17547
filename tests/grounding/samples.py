# ruff: noqa: E501 - a sample reads best beside what it defines
"""One small file per grammar, and the definitions it holds: name, owner (the innermost) and line of the name."""

from __future__ import annotations

Defined = tuple[str, str, int]

SAMPLES: dict[str, tuple[str, str, tuple[Defined, ...]]] = {
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
        (
            ("LIMIT", "", 1),
            ("FLAG", "", 3),
            ("Shop", "", 10),
            ("size", "Shop", 13),
            ("__init__", "Shop", 15),
            ("stock", "__init__", 16),
            ("total", "Shop", 19),
            ("Alias", "", 22),
        ),
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
        (
            ("LIMIT", "", 1),
            ("Shop", "", 2),
            ("#stock", "Shop", 3),
            ("open", "Shop", 4),
            ("total", "Shop", 5),
            ("walk", "", 7),
            ("add", "", 8),
            ("close", "exports", 9),
            ("routes", "", 10),
            ("index", "routes", 10),
            ("show", "routes", 10),
        ),
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
        (
            ("Shape", "", 1),
            ("area", "Shape", 1),
            ("name", "Shape", 1),
            ("Id", "", 2),
            ("Color", "", 3),
            ("Red", "Color", 3),
            ("Green", "Color", 3),
            ("Shop", "", 4),
            ("stock", "Shop", 5),
            ("constructor", "Shop", 6),
            ("db", "constructor", 6),
            ("total", "Shop", 7),
            ("open", "Shop", 9),
            ("Inner", "", 11),
            ("deep", "Inner", 11),
            ("outside", "", 12),
        ),
    ),
    "tsx": (
        "m.tsx",
        """export function Page({ id }: Props) { return <div onClick={go}>text {id}</div>; }
const Card: FC = () => <p/>;
""",
        (("Page", "", 1), ("Card", "", 2)),
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
        (
            ("Limit", "", 3),
            ("ErrGone", "", 6),
            ("Engine", "", 9),
            ("pool", "Engine", 10),
            ("Handler", "", 13),
            ("Serve", "Handler", 14),
            ("Alias", "", 17),
            ("ServeHTTP", "Engine", 19),
            ("Len", "List", 20),
            ("New", "", 21),
        ),
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
        (
            ("LIMIT", "", 1),
            ("NAME", "", 2),
            ("Router", "", 4),
            ("routes", "Router", 4),
            ("Either", "", 5),
            ("Left", "Either", 5),
            ("Right", "Either", 5),
            ("Layer", "", 6),
            ("Service", "Layer", 6),
            ("layer", "Layer", 6),
            ("Router", "", 7),
            ("new", "Router", 7),
            ("Layer", "", 8),
            ("Router", "", 8),
            ("Service", "Router", 8),
            ("layer", "Router", 8),
            ("go", "", 9),
            ("inner", "", 10),
            ("deep", "inner", 10),
            ("Alias", "", 11),
        ),
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
        (
            ("Shop", "", 2),
            ("LIMIT", "Shop", 3),
            ("Shop", "Shop", 4),
            ("total", "Shop", 6),
            ("Color", "Shop", 7),
            ("RED", "Color", 7),
            ("GREEN", "Color", 7),
            ("Shape", "Shop", 8),
            ("area", "Shape", 8),
            ("Point", "Shop", 9),
            ("x", "Point", 9),
            ("y", "Point", 9),
            ("Mark", "Shop", 10),
            ("value", "Mark", 10),
        ),
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
        (
            ("LIMIT", "", 1),
            ("MAX", "", 2),
            ("node", "node_t", 3),
            ("value", "node", 3),
            ("next", "node", 3),
            ("node_t", "", 3),
            ("color", "", 4),
            ("RED", "color", 4),
            ("GREEN", "color", 4),
            ("counter", "", 5),
            ("name_of", "", 6),
            ("main", "", 7),
            ("name_of", "", 8),
            ("handler_t", "", 9),
        ),
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
        (
            ("shop", "", 1),
            ("Stock", "shop", 3),
            ("Stock", "Stock", 5),
            ("total", "Stock", 6),
            ("items_", "Stock", 7),
            ("Alias", "shop", 9),
            ("Color", "shop", 10),
            ("Red", "Color", 10),
            ("count", "Stock", 13),
            ("open", "Shop", 14),
            ("limit", "Shop", 15),
            ("LIMIT", "", 16),
        ),
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
        (
            ("Shop", "", 1),
            ("LIMIT", "Shop", 2),
            ("Stock", "Shop", 3),
            ("items", "Stock", 4),
            ("size", "Stock", 4),
            ("initialize", "Stock", 5),
            ("cache", "initialize", 6),
            ("open", "Stock", 8),
            ("empty?", "Stock", 9),
        ),
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
        (
            ("App", "", 2),
            ("LIMIT", "", 3),
            ("OTHER", "", 4),
            ("Shape", "", 5),
            ("area", "Shape", 5),
            ("Loud", "", 6),
            ("Color", "", 7),
            ("Red", "Color", 7),
            ("Shop", "", 8),
            ("SIZE", "Shop", 9),
            ("stock", "Shop", 10),
            ("__construct", "Shop", 11),
            ("db", "__construct", 11),
            ("open", "Shop", 12),
            ("helper", "", 14),
        ),
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
        (
            ("Core", "Shop", 1),
            ("IShape", "", 2),
            ("Area", "IShape", 2),
            ("Color", "", 3),
            ("Red", "Color", 3),
            ("Green", "Color", 3),
            ("Point", "", 4),
            ("X", "Point", 4),
            ("Y", "Point", 4),
            ("Stock", "", 5),
            ("Limit", "Stock", 7),
            ("Name", "Stock", 8),
            ("Changed", "Stock", 9),
            ("Stock", "Stock", 10),
            ("Total", "Stock", 12),
            ("Local", "Total", 12),
            ("Handler", "Stock", 13),
        ),
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
        (
            ("LIMIT", "", 2),
            ("Alias", "", 3),
            ("Shape", "", 4),
            ("area", "Shape", 5),
            ("Color", "", 7),
            ("RED", "Color", 7),
            ("GREEN", "Color", 7),
            ("Single", "", 8),
            ("one", "Single", 9),
            ("Stock", "", 11),
            ("db", "Stock", 11),
            ("size", "Stock", 12),
            ("Maker", "Stock", 13),
            ("open", "Maker", 14),
            ("total", "Stock", 16),
            ("shout", "String", 18),
        ),
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
        (
            ("m", "", 1),
            ("Shape", "", 2),
            ("area", "Shape", 2),
            ("Single", "", 3),
            ("one", "Single", 3),
            ("Point", "", 4),
            ("x", "Point", 4),
            ("y", "Point", 4),
            ("Id", "Point", 5),
            ("size", "Point", 6),
            ("total", "Point", 7),
            ("Color", "", 9),
            ("Red", "Color", 9),
            ("Green", "Color", 9),
        ),
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
        (
            ("limit", "", 1),
            ("Shape", "", 2),
            ("area", "Shape", 2),
            ("name", "Shape", 2),
            ("Color", "", 3),
            ("red", "Color", 3),
            ("green", "Color", 3),
            ("Alias", "", 4),
            ("Point", "", 5),
            ("x", "Point", 5),
            ("Stock", "", 6),
            ("init", "Stock", 7),
            ("total", "Stock", 8),
            ("Stock", "", 10),
            ("open", "Stock", 10),
        ),
    ),
    "bash": (
        "m.sh",
        """LIMIT=3
function open() { local x=1; }
close() { :; }
export PATH_TO=1
""",
        (("LIMIT", "", 1), ("open", "", 2), ("x", "open", 2), ("close", "", 3), ("PATH_TO", "", 4)),
    ),
    "haskell": (
        "M.hs",
        "module M where\n\ndata Shape = Circle Double | Square\nnewtype Id = Id Int\ntype Alias = Int\nclass Loud a where\n  shout :: a -> String\n\n"
        "total :: Int -> Int\ntotal x = x\n",
        (
            ("M", "", 1),
            ("Shape", "", 3),
            ("Circle", "Shape", 3),
            ("Square", "Shape", 3),
            ("Id", "", 4),
            ("Id", "Id", 4),
            ("Alias", "", 5),
            ("Loud", "", 6),
            ("shout", "Loud", 7),
            ("total", "", 9),
            ("total", "", 10),
        ),
    ),
    "lua": (
        "m.lua",
        "local limit = 3\nlocal function open() end\nfunction Shop.close() end\nfunction Shop:total() end\nM.size = 1\n",
        (
            ("limit", "", 1),
            ("open", "", 2),
            ("close", "Shop", 3),
            ("total", "Shop", 4),
            ("size", "M", 5),
        ),
    ),
    "elixir": (
        "m.ex",
        "defmodule Shop.Stock do\n  @limit 3\n  def open(x), do: x\n  defp close(x) when x > 1 do\n    x\n  end\n  defmacro go, do: 1\nend\n",
        (
            ("Stock", "Shop", 1),
            ("limit", "Stock", 2),
            ("open", "Stock", 3),
            ("close", "Stock", 4),
            ("go", "Stock", 7),
        ),
    ),
    "julia": (
        "m.jl",
        "module Shop\nconst LIMIT = 3\nstruct Point\n  x::Int\nend\nfunction total(a)\n  a\nend\nshort(a) = a\nmacro go() end\nend\n",
        (
            ("Shop", "", 1),
            ("LIMIT", "Shop", 2),
            ("Point", "Shop", 3),
            ("x", "Point", 4),
            ("total", "Shop", 6),
            ("short", "Shop", 9),
            ("go", "Shop", 10),
        ),
    ),
    "perl": (
        "M.pm",
        "package Shop::Stock;\nsub open { return 1; }\n1;\n",
        (("Stock", "Shop", 1), ("open", "", 2)),
    ),
    "r": (
        "m.R",
        "limit <- 3\ntotal <- function(x) { x }\nother = 1\n",
        (("limit", "", 1), ("total", "", 2), ("other", "", 3)),
    ),
    "sql": (
        "m.sql",
        "CREATE TABLE shop (id INT, name TEXT);\nCREATE VIEW v AS SELECT 1;\n",
        (("shop", "", 1), ("id", "shop", 1), ("name", "shop", 1), ("v", "", 2)),
    ),
    "ocaml": (
        "m.ml",
        "let limit = 3\ntype shape = Circle of int | Square\nmodule Shop = struct let total x = x end\nexception Gone\n",
        (
            ("limit", "", 1),
            ("shape", "", 2),
            ("Circle", "shape", 2),
            ("Square", "shape", 2),
            ("Shop", "", 3),
            ("total", "Shop", 3),
            ("Gone", "", 4),
        ),
    ),
    "erlang": (
        "m.erl",
        "-module(m).\n-record(shop, {size}).\nopen(X) -> X.\n",
        (("m", "", 1), ("shop", "", 2), ("size", "shop", 2), ("open", "", 3)),
    ),
    "hcl": (
        "m.tf",
        'resource "aws_vpc" "main" {\n  cidr = "192.0.2.0/24"\n}\n',
        (("resource", "", 1), ("aws_vpc", "", 1), ("main", "", 1), ("cidr", "main", 2)),
    ),
    "objc": (
        "m.m",
        "#define LIMIT 3\n@interface Shop : Base\n- (int)total;\n@end\n@implementation Shop\n- (int)total { return 1; }\n@end\nint main(void) { return 0; }\n",
        (
            ("LIMIT", "", 1),
            ("Shop", "", 2),
            ("total", "Shop", 3),
            ("Shop", "", 5),
            ("total", "Shop", 6),
            ("main", "", 8),
        ),
    ),
}
