package shop.core

import shop.till.{Cash => Money}
import shop.till.Coin as Penny

@deprecated("later", "1")
trait Shape[T] { self: Base =>
  type Ident
  type Bounded <: Int
  val edge: Int
  var label: String
  def area: Double
  def +(other: Shape[T]): Shape[T]
  def unary_! : Boolean
  def `match`: Int
}

object Single extends Base {
  val one = 1
  val (left, right) = (1, 2)
  val Some(inner) = Option(1)
  val Point(px, py) = origin
  val foremost :: others = List(1, 2)
  val List(start, rest @ _*) = List(1, 2)
  val whole @ Some(_) = Option(1)
  val alpha, beta = 1
  lazy val later = 1
  implicit val ordering: Ordering[Int] = null
  private[this] var hidden = 0
  var (up, down) = (1, 2)

  implicit def convert(x: Int): String = x.toString
  implicit class Rich(val text: String) extends AnyVal {
    def shout: String = text.toUpperCase
  }

  def unapply(x: Int): Option[Int] = {
    val local = 1
    def nested(y: Int) = {
      println(y)
      y + local
    }
    Some(nested(x))
  }

  def label_=(v: Int): Unit = ()
  def ::(x: Int): Int = x
  def <+>(x: Int): Int = x
  val double = (x: Int) => x * 2

  def braceless(x: Int): Int =
    println(x)
    println(x + 1)
    x
}

case class Point(x: Int, yAxis: Int) extends Shape2 {
  def this(z: Int) = this(z, 0)
}
case object Empty
sealed abstract class Choice[+A]
class Ctor private (val first: Int, var second: Int, third: Int)(using ctx: Int)

package object util {
  def helper = 1
}

package inner {
  class Nested
}

enum Color(val rgb: Int) {
  case Red extends Color(1)
  case Green, Blue
  case Mix(amount: Int)
}

enum Tree[+T]:
  case Leaf
  case Node(below: Tree[T])

extension (s: String)
  def loud: String = s
  def twice: String =
    println(s)
    s + s

extension [T](xs: List[T]) def second1: T = xs.tail.head

given Ordering[Int] with
  def compare(x: Int, y: Int) = 0

given intShow: Show[Int] with {
  def show(x: Int) = ""
}
given listShow[T](using Show[T]): Show[List[T]] = ???

opaque type Meters = Double
type Table[A] = Map[A, A]
inline def fast(x: Int) = x
infix def combine(x: Int) = x
def topLevel = 1
val topVal = 2
var topVar = 3
object `quotedName`

@main def run(args: String*) = {
  println("run")
  println(args)
}

class StockSuite extends AnyFunSuite {
  test("sells") {
    assert(true)
  }
  describe("opening") {
    it("squeaks") {
      assert(true)
    }
  }
}

// Nothing is named from here on.
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
