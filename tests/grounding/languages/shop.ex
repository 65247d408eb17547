defmodule Shop.Stock do
  @moduledoc "What is in the shop."
  use GenServer
  alias Shop.Till, as: CashBox

  @limit 3
  @default_rates [
    tea: 1,
    coffee: 2
  ]

  @type item :: %{name: String.t()}
  @typep price :: integer
  @opaque secret(inner) :: {inner, price}
  @callback arrive(item) :: :ok
  @callback leave(item :: term, opts) :: :ok when opts: keyword
  @macrocallback expand(term) :: Macro.t()
  @optional_callbacks arrive: 1

  @enforce_keys [:owner]
  defstruct [:owner, :door, colour: "red", open?: false]

  defguard is_cheap(cost) when cost < 3
  defguardp is_dear(cost) when cost > 30

  @doc """
  Opens the shop.
  """
  @spec unlock(item, integer) :: :ok
  def unlock(item, times \\ 1)

  def unlock(item, times) when times > 1 do
    IO.puts("open")
    item
  end

  def fetch!(item) do
    IO.puts("fetch")
    item
  end

  def cheap?(item), do: item
  def nothing, do: nil
  def guarded_short(item) when is_map(item) and item != %{}, do: item

  defp hide(item) do
    keep = fn thing -> thing end
    short = &String.upcase/1
    keep.(short.(item))
  end

  def left ~> right do
    {left, right}
  end

  def first <|> second, do: first || second
  def bigger >>> smaller when bigger > smaller, do: bigger

  defmacro announce(text) do
    quote do
      IO.puts(unquote(text))
    end
  end

  defmacrop whisper(text), do: text
  defdelegate measure(list), to: Enum, as: :count
  defdelegate bare, to: Enum

  defmodule Shelf do
    def dust, do: 1
  end

  defmodule Closed do
    defexception [:reason, status: 1]

    @impl true
    def message(error), do: error.reason
  end
end

defprotocol Shop.Weight do
  @spec weigh(t) :: integer
  def weigh(data)
end

defimpl Shop.Weight, for: Shop.Parcel do
  def load(parcel), do: parcel
end

defmodule Shop.Person do
  use Ecto.Schema
  require Record

  Record.defrecord(:address, street: "x", town: "y")
  Record.defrecordp(:phone, number: 1)

  schema "people" do
    field :nickname, :string
    field(:age, :integer)
    belongs_to :company, Company
    has_many :letters, Letter
    many_to_many :clubs, Club
    embeds_one :avatar, Avatar
  end
end

defmodule ShopWeb.Router do
  pipeline :browser do
    plug :accepts
  end

  attr :title, :string
  slot :inner_block
end

defmodule ShopTest do
  use ExUnit.Case

  describe "opening" do
    test "squeaks", %{door: door} do
      IO.puts("squeak")
      assert door
    end

    test "pending"
  end

  property "commutes" do
    check(1)
  end
end

# Nothing is named from here on.
#
#
#
#
#
#
#
#
#
#
#
