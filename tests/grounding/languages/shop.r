limit <- 30
rate = 7
counter <<- 0

open_shop <- function(door) {
  key <- door
  print("open")
  key
}

total = function(items) {
  sum(items)
}

sell <- function(item) {
  visit <- function(guest) {
    guest
  }
  visit(item)
}
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
