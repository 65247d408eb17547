-- Opens a shop and sells what is in it.
local M = {}
local limit, rate = 3, 7
local frozen <const> = 1
version = "1"

local function open_shop(door)
  local key = door
  print("open")
  return key
end

function close_shop()
  print("closed")
end

function M.sell(item)
  print("sold")
  return item
end

function M:total()
  print("sum")
  return 1
end

function M.deep.inner.reach()
  print("deep")
end

M.size = 1
M["quoted"] = function()
  print("q")
  return 2
end
M['single'] = 2
M.sub.depth = 3
M.sub["far"] = 4
M.first, M.second = 1, 2

M.handler = function(self)
  self.count = 0
  print("handled")
  return self
end

local walk = function(list)
  for index = 1, 10 do
    print("n")
  end
  for name, value in pairs(list) do
    print("v")
  end
  return list
end

local palette = {
  colour = "red",
  ["font size"] = 12,
  ["weight"] = 1,
  on_click = function()
    print("click")
    return 1
  end,
  nested = {
    level = 2,
  },
}

local Shop = setmetatable({}, {
  __index = function(_, wanted)
    return wanted
  end,
})

Shop.__call = function()
  return 1
end

rawset(_G, "raw_name", 1)
_G.global_field = 1
_G["global_name"] = 1

::restart::
if limit > rate then
  goto restart
end

describe("shopping", function()
  it("works", function()
    print("ok")
    assert(true)
  end)
end)

return M
--
--
--
--
--
--
--
--
--
--
--
-- Nothing is named here.
