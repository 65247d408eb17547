(call . target: (identifier) @keyword (arguments . [
  (call target: (identifier) @name)
  (identifier) @name
  (unary_operator operator: _ @name)
  (binary_operator left: [(call target: (identifier) @name) (identifier) @name (unary_operator operator: _ @name) (binary_operator operator: _ @name)] operator: "when")])
  (#any-of? @keyword "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defn" "defnp")) @definition
(call . target: (identifier) @keyword (arguments . (binary_operator operator: _ @name))
  (#any-of? @keyword "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defn" "defnp") (#not-eq? @name "when")) @definition
(call . target: (identifier) @keyword (arguments . (alias) @qualified)
  (#any-of? @keyword "defmodule" "defprotocol" "defimpl")) @definition
(call . target: (identifier) @keyword (arguments (keywords (pair key: (keyword) @for value: [(alias) @scope.name (list (alias) @scope.name)])))
  (#eq? @keyword "defimpl") (#match? @for "^for:")) @scope
(call . target: (identifier) @keyword (arguments (keywords (pair key: (keyword) @as value: (alias) @name)))
  (#any-of? @keyword "alias" "require") (#match? @as "^as:")) @definition
(unary_operator operator: "@" operand: (call target: (identifier) @name)
  (#not-match? @name "^(((module|type)?doc)|spec|typep?|opaque|(macro|optional_)?callbacks?|behaviour|impl|deprecated|since|(module|describe)?tag|enforce_keys|derive|dialyzer|(before|after)_compile|on_load|external_resource)$")) @definition
(unary_operator operator: "@" operand: (call . target: (identifier) @keyword (arguments . [
  (binary_operator left: [(call target: (identifier) @name) (identifier) @name] operator: "::")
  (binary_operator left: (binary_operator operator: _ @name) operator: "::")
  (binary_operator left: (binary_operator left: [(call target: (identifier) @name) (identifier) @name] operator: "::") operator: "when")])
  (#any-of? @keyword "type" "typep" "opaque" "spec" "callback" "macrocallback"))) @definition
(call . target: (identifier) @keyword (arguments [
  (list [(atom) @name (keywords (pair key: (keyword) @name))])
  (keywords (pair key: (keyword) @name))])
  (#any-of? @keyword "defstruct" "defexception")) @definition
(call . target: [(identifier) @keyword (dot right: (identifier) @keyword)] (arguments . (atom) @name . (keywords (pair key: (keyword) @name))?)
  (#any-of? @keyword "defrecord" "defrecordp")) @definition
(call . target: (identifier) @keyword (arguments . [(atom) (string)] @name)
  (#any-of? @keyword "field" "belongs_to" "has_many" "has_one" "many_to_many" "embeds_one" "embeds_many" "add" "table" "attr" "slot" "pipeline" "schema" "test" "describe" "property" "feature" "scenario")) @definition
(call . target: (identifier) @keyword (arguments . (call target: (identifier) @table (arguments . (atom) @name)))
  (#eq? @keyword "create") (#eq? @table "table")) @definition
(binary_operator left: (identifier) @name operator: "=" right: [(anonymous_function) (unary_operator operator: "&")]) @definition
(unary_operator operator: "@" operand: (call target: (identifier) @attribute)
  (#any-of? @attribute "doc" "typedoc" "spec" "impl" "deprecated" "tag" "since")) @header
(comment) @comment
[(string) (charlist) (sigil)] @string
(interpolation) @code
