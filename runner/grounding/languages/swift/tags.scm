[(class_declaration name: [
   (type_identifier) @name
   (user_type . (type_identifier) @name .)
   (user_type . (type_identifier) @name . (type_arguments) .)
   (user_type (type_identifier) @receiver . (type_identifier) @name .)])
 (protocol_declaration name: (type_identifier) @name)
 (function_declaration "func" . name: _ @name)
 (protocol_function_declaration "func" . name: _ @name)
 (operator_declaration "operator" . _ @name)
 (precedence_group_declaration (simple_identifier) @name)
 (init_declaration name: "init" @name)
 (deinit_declaration "deinit" @name)
 (subscript_declaration "subscript" @name)
 (property_declaration name: (pattern bound_identifier: (simple_identifier) @name))
 (property_declaration name: (pattern (pattern (simple_identifier) @name)))
 (protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name))
 (enum_entry name: (simple_identifier) @name)
 (typealias_declaration name: (type_identifier) @name)
 (associatedtype_declaration name: (type_identifier) @name)
 (macro_declaration (simple_identifier) @name)] @definition
(class_declaration name: (user_type (type_identifier) @scope.name)) @scope
(call_expression . (simple_identifier) @test . (call_suffix (value_arguments . (value_argument value: (line_string_literal) @name)))
  (#any-of? @test "describe" "context" "it" "test")) @definition
[(comment) (multiline_comment)] @comment
[(line_string_literal) (multi_line_string_literal) (raw_string_literal) (regex_literal)] @string
(interpolated_expression) @code
