(call target: (identifier) @keyword (arguments [(call target: (identifier) @name) (identifier) @name (binary_operator left: [(call target: (identifier) @name) (identifier) @name])])
  (#match? @keyword "^(def|defp|defmacro|defmacrop|defguard|defguardp|defdelegate|defn|defnp)$")) @definition
(call target: (identifier) @keyword (arguments (alias) @qualified) (#match? @keyword "^(defmodule|defprotocol|defimpl)$")) @definition
(unary_operator operator: "@" operand: (call target: (identifier) @name)) @definition
(comment) @comment
[(string) (charlist) (sigil)] @string
(interpolation) @code
