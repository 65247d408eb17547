[(package_clause name: (_) @qualified)
 (class_definition name: (_) @name)
 (object_definition name: (_) @name)
 (trait_definition name: (_) @name)
 (enum_definition name: (_) @name)
 (simple_enum_case name: (_) @name)
 (full_enum_case name: (_) @name)
 (package_object name: (_) @name)
 (type_definition name: (_) @name)
 (function_definition name: (_) @name)
 (function_declaration name: (_) @name)
 (given_definition name: (_) @name)
 (given_definition !name return_type: [(type_identifier) @name (generic_type type: (type_identifier) @name)])
 (extension_definition "extension" @name)
 (extension_definition parameters: (parameters (parameter type: [(type_identifier) @name (generic_type type: (type_identifier) @name)])))
 (val_declaration name: (_) @name)
 (var_declaration name: (_) @name)
 (class_parameter name: (_) @name)
 (arrow_renamed_identifier alias: (_) @name)
 (as_renamed_identifier alias: (_) @name)] @definition
[(val_definition pattern: [
   (identifier) @name
   (operator_identifier) @name
   (identifiers (_) @name)
   (tuple_pattern [(identifier) @name (typed_pattern pattern: (identifier) @name)])
   (case_class_pattern [(identifier) @name (capture_pattern name: (identifier) @name) (typed_pattern pattern: (identifier) @name) (repeat_pattern pattern: (capture_pattern name: (identifier) @name))])
   (infix_pattern left: (identifier) @name)
   (infix_pattern right: (identifier) @name)
   (capture_pattern name: (identifier) @name)
   (typed_pattern pattern: (identifier) @name)])
 (var_definition pattern: [
   (identifier) @name
   (operator_identifier) @name
   (identifiers (_) @name)
   (tuple_pattern [(identifier) @name (typed_pattern pattern: (identifier) @name)])
   (typed_pattern pattern: (identifier) @name)])] @definition
(call_expression .
  function: (call_expression . function: (identifier) @test arguments: (arguments . [(string) (interpolated_string_expression)] @name))
  (#any-of? @test "test" "testAsync" "it" "describe" "property" "suite" "scenario" "feature")) @definition
[(comment) (block_comment)] @comment
[(string) (interpolated_string) (character_literal)] @string
(interpolation) @code
