// Package shop is a shop: every kind of thing that Go lets a file define.
package shop

import (
	"context"
	"fmt"
	"io"
	str "strings"
	"sync"
)

import clock "time"

// MaxCustomers is how many customers fit in.
const MaxCustomers = 40

const (
	// OpenHour is when it opens.
	OpenHour, CloseHour = 8, 18

	shopName string = "Corner"
)

// Kind is a kind of goods.
type Kind int

const (
	Fresh Kind = iota + 1
	Canned
	frozen // lasts
)

// ErrSoldOut says that nothing is left.
var ErrSoldOut = fmt.Errorf("sold out")

var first, last int

var (
	registry = map[string]*Shop{}

	// counted counts customers.
	counted uint64

	describe = func(order *Order) string {
		words := "an order"

		return words
	}
)

// Cents is money.
type Cents = int64

type (
	// Checker says whether an order is fine.
	Checker func(ctx context.Context, order *Order) error

	shelf struct {
		height int
		next   *shelf
	}
)

// Priced is what can be priced.
type Priced interface {
	fmt.Stringer
	Sized

	// Price is without tax.
	Price() Cents
	taxed(rate float64) (Cents, error)
}

type Sized interface {
	Size() int
}

// Number is what can be counted.
type Number interface {
	~int | ~int64 |
		~float64
}

// Order is what somebody buys.
type Order struct {
	sync.Mutex
	*Customer
	List[string]
	io.Writer

	// ID is unique.
	ID    string `json:"id"`
	Cents Cents  `json:"cents"`

	Width, Height int
	onSale        func(order *Order) error
	address       struct {
		Street string
		number int
	}
	lines []*Line
}

type Customer struct {
	name string
}

type Line struct{}

// List is a list of anything.
type List[T any] struct {
	items []T
}

type Pair[K comparable, V any] struct {
	Key   K
	Value V
}

type Option func(*Shop)

type Shop struct {
	name    string
	orders  chan *Order
	handler func(order *Order)
}

// New makes a shop.
func New(name string, options ...Option) *Shop {
	shop := &Shop{name: name}

	for _, option := range options {
		option(shop)
	}
	return shop
}

// Sell sells an order.
//
// It blocks until somebody takes it.
func (s *Shop) Sell(
	ctx context.Context,
	order *Order,
) (receipt *Receipt, err error) {
	select {
	case s.orders <- order:
		receipt = &Receipt{}
	case <-ctx.Done():
		err = ctx.Err()
	}

	return receipt, err
}

func (s Shop) Name() string {
	return s.name
}

func (Shop) Size() int { return MaxCustomers }

func (s *Shop) String() string {
	return str.ToUpper(s.name)
}

func (l *List[T]) Push(item T) {
	l.items = append(l.items, item)
}

func (l List[T]) Len() int {
	return len(l.items)
}

func (p *Pair[K, V]) Swap(other *Pair[K, V]) {
	p.Value, other.Value = other.Value, p.Value
}

type Receipt struct {
	at clock.Time
}

// Map turns a list of one thing into a list of another.
func Map[T, R any](
	list []T,
	turn func(T) R,
) []R {
	result := make([]R, 0, len(list))

	for _, item := range list {
		result = append(result, turn(item))
	}
	return result
}

// WithName names a shop.
func WithName(name string) Option {
	return func(s *Shop) {
		s.name = name
	}
}

func (s *Shop) Count() int {
	total := 0

	visible := func(door int) int {
		seen := door + 1

		return seen
	}

	var audit = func() {
		total++
	}

	s.handler = func(order *Order) {
		order.Lock()

		defer order.Unlock()
	}

	type visit struct {
		door int
	}
	const doors = 3

counting:
	for door := 0; door < doors; door++ {
		if door > 2 {
			break counting
		}
	}

	audit()
	return visible(total)
}

var command = &Command{
	Use: "shop",
	RunShop: func(args []string) error {
		fmt.Println(args)

		return nil
	},
}

type Command struct {
	Use     string
	RunShop func(args []string) error
}

var handlers = map[string]Checker{
	"open": nil,
}

func init() {
	registry["corner"] = New("corner")
}

func main() {
	fmt.Println(describe(nil))
}

// nativeBell is written in assembly.
func nativeBell(times int32) int32

var _ Priced = (*Goods)(nil)

type Goods struct{ Shop }

//go:embed banner.txt
var banner string

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
