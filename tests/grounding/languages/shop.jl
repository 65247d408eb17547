module Shopping

const LIMIT = 30
const (FIRST, SECOND) = 1, 2

abstract type Thing end
primitive type Coin 8 end

"""What is sold."""
struct Item <: Thing
    name::String
    price
end

mutable struct Till{T}
    total::T
end

@enum Color RED GREEN

function sell(item)
    total = item.price
    return total
end

twice(x) = 2x

function Base.show(io, item)
    print(io, item)
end

macro ring(bell)
    return bell
end

visit = shop -> sell(shop)

end
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
#
#
#
#
#
#
# Nothing is named here.
