[(class_declaration name: (identifier) @name)
 (interface_declaration name: (identifier) @name)
 (enum_declaration name: (identifier) @name)
 (record_declaration name: (identifier) @name)
 (annotation_type_declaration name: (identifier) @name)
 (annotation_type_element_declaration name: (identifier) @name)
 (method_declaration name: (identifier) @name)
 (constructor_declaration name: (identifier) @name)
 (compact_constructor_declaration name: (identifier) @name)
 (enum_constant name: (identifier) @name)
 (field_declaration declarator: (variable_declarator name: (identifier) @name))
 (constant_declaration declarator: (variable_declarator name: (identifier) @name))
 (local_variable_declaration declarator: (variable_declarator name: (identifier) @name value: (lambda_expression)))
 (module_declaration name: (identifier) @name)
 (module_declaration name: (scoped_identifier) @qualified)
 (labeled_statement . (identifier) @name)] @definition
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @name) @definition))
(record_declaration parameters: (formal_parameters (spread_parameter (variable_declarator name: (identifier) @name)) @definition))
[(line_comment) (block_comment)] @comment
[(string_literal) (character_literal)] @string
(string_interpolation) @code
