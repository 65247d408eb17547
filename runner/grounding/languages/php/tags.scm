[(function_definition name: (name) @name)
 (method_declaration name: (name) @name)
 (class_declaration name: (name) @name)
 (interface_declaration name: (name) @name)
 (trait_declaration name: (name) @name)
 (enum_declaration name: (name) @name)
 (enum_case name: (name) @name)
 (const_declaration (const_element (name) @name))
 (property_declaration (property_element name: (variable_name (name) @name)))
 (property_promotion_parameter name: (variable_name (name) @name))
 (static_variable_declaration name: (variable_name (name) @name))
 (namespace_definition name: (namespace_name) @qualified)
 (namespace_use_clause alias: (name) @name)
 (use_as_clause (_) (name) @name .)
 (named_label_statement (name) @name)] @definition
(program (expression_statement (assignment_expression left: (variable_name (name) @name)) @definition))
(assignment_expression left: (variable_name (name) @name)
  right: [(anonymous_function) (arrow_function) (object_creation_expression (anonymous_class))]) @definition
[(return_statement (array_creation_expression (array_element_initializer . (string (string_content) @name) . (_)) @definition))
 (const_element (array_creation_expression (array_element_initializer . (string (string_content) @name) . (_)) @definition))
 (property_element (array_creation_expression (array_element_initializer . (string (string_content) @name) . (_)) @definition))
 (assignment_expression right: (array_creation_expression (array_element_initializer . (string (string_content) @name) . (_)) @definition))
 (array_element_initializer (_) (array_creation_expression (array_element_initializer . (string (string_content) @name) . (_)) @definition))]
(function_call_expression . function: (name) @define arguments: (arguments . (argument (_ (string_content) @name)))
  (#any-of? @define "define" "it" "test" "describe" "dataset" "arch")) @definition
(comment) @comment
[(string) (encapsed_string) (heredoc) (nowdoc) (text)] @string
(encapsed_string [(variable_name) (member_access_expression) (subscript_expression)] @code)
