[(class_declaration name: (identifier) @name)
 (object_declaration name: (identifier) @name)
 (function_declaration name: (identifier) @name)
 (property_declaration (variable_declaration (identifier) @name))
 (property_declaration (multi_variable_declaration (variable_declaration (identifier) @name)))
 (enum_entry (identifier) @name)
 (class_parameter (identifier) @name . ":")
 (companion_object name: (identifier) @name)
 (type_alias type: (identifier) @name)
 (import "as" (identifier) @name)
 (secondary_constructor "constructor" @name)
 (primary_constructor "constructor" @name)
 (anonymous_initializer "init" @name)] @definition
(companion_object "companion" @name !name (#set! name "Companion")) @definition
; A constructor is also called by its class's name.
(class_declaration name: (identifier) @name (class_body (secondary_constructor "constructor" @at) @definition))
; fun Shop.open(), val Shop?.size
(function_declaration
  [(user_type (identifier) @receiver . (type_arguments)? .)
   (nullable_type (user_type (identifier) @receiver . (type_arguments)? .))]
  . "." . name: (identifier) @name) @definition
(property_declaration
  [(user_type (identifier) @receiver . (type_arguments)? .)
   (nullable_type (user_type (identifier) @receiver . (type_arguments)? .))]
  . "." . (variable_declaration (identifier) @name)) @definition
(for_statement (label) @name) @definition
(while_statement (label) @name) @definition
(do_while_statement (label) @name) @definition
[(line_comment) (block_comment)] @comment
[(string_literal) (multiline_string_literal) (character_literal)] @string
(interpolation) @code
