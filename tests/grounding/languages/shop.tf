variable "region" {
  type    = string
  default = "north"
}

locals {
  opening_hour = 9
}

resource "aws_instance" "counter" {
  ami = var.region

  lifecycle {
    create_before_destroy = true
  }
}

module "stock_room" {
  source = "./stock"
}

output "door_address" {
  value = "at ${aws_instance.counter.id}"
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
