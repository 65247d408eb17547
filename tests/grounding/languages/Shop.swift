import Foundation

infix operator <+>: ShopPrecedence
prefix operator √
postfix operator +++
precedencegroup ShopPrecedence {
  higherThan: MultiplicationPrecedence
}

typealias Callback = (Int) -> Void
let limit = 3, rate = 4
var counter = 0
var (left, right) = (1, 2)

public protocol Shape: AnyObject {
  associatedtype Element: Equatable
  static var count: Int { get }
  var label: String { get set }
  func area() -> Double
  mutating func grow()
  init(size: Int)
  subscript(index: Int) -> Element { get }
  static func == (l: Self, r: Self) -> Bool
}

enum Color: String, CaseIterable {
  case red, green = "g"
  case mix(Int, named: String)
  indirect case tree(Color)
  static let fallback = Color.red
  var hex: String {
    print("hex")
    return "x"
  }
}

struct Point<T>: Shape {
  var x1: Int
  let y1, z1: Int
  var computed: Int { return 1 }
  var observed: Int = 0 {
    willSet { print("will") }
    didSet { print("did") }
  }
  lazy var later: Int = { 1 }()
  @Published var wrapped = 1
  static var shared: Point { get { make() } set { } }
  weak var delegate: Delegate?

  static func + (l: Point, r: Point) -> Point { l }
  static prefix func - (p: Point) -> Point { p }
  static func <<< (l: Point, r: Point) -> Point {
    print("shift")
    return l
  }

  subscript(i: Int) -> Int {
    get { 1 }
    set { print("set") }
  }

  init(x1: Int) {
    self.x1 = x1
    print("made")
  }
  init?(raw: Int) { return nil }

  func callAsFunction() {}
  func generic<U>(_ u: U) where U: Equatable {
    func inner() { print("in") }
    let closure = { (n: Int) in n }
    let local = 1
    print(local)
  }
}

final class Stock: Base {
  deinit { print("gone") }
  override class func make() {}
  @objc private func tapped() {}
  class var kind: Int { 1 }
  enum Inner { case only }
  struct Deep { var level = 1 }
  convenience init(name: String) { self.init() }
}

final actor Bank {
  var balance = 0
  nonisolated func open() async throws {}
}

distributed actor Remote {
  distributed func reach() {}
}

extension Ledger {
  func audit() {
    print("a")
    print("b")
  }
}
extension Array where Element == Int {
  var sum: Int { 1 }
}
extension Outer.Part: Codable {
  static func build() {}
}

func free(a b: Int) -> Int {
  print("free")
  return b
}
func <+> (l: Int, r: Int) -> Int { l }
prefix func √ (x: Double) -> Double { x }
func `default`() {}
@freestanding(expression) public macro stringify<T>(_ v: T) -> String = #externalMacro(module: "M", type: "S")
@resultBuilder struct Builder { static func buildBlock() {} }
#if DEBUG
func debugOnly() {}
#endif
let handler: (Int) -> Int = { $0 }

@Suite struct ShopTests {
  @Test("adds") func addsNumbers() {}
}
class StockSpec: QuickSpec {
  override func spec() {
    describe("opening") {
      it("squeaks") {
        expect(1)
      }
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
