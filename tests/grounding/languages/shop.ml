let limit = 30
let first, second = 1, 2
let ( +++ ) a b = a + b

type shape = Circle of int | Square
type item = {
  title : string;
  price : int;
}
exception Sold_out of string
external now : unit -> float = "caml_now"

let rec total items =
  match items with
  | [] -> 0
  | item :: rest -> item.price + total rest

module Stock = struct
  let arrive item =
    print_endline item;
    item
end

module type VISITOR = sig
  val greet : string -> unit
end

class counter = object
  val mutable count = 0
  method ring bell =
    count <- count + 1;
    bell
end
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* *)
(* Nothing is named here. *)
