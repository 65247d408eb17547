[(class_declaration name: (identifier) @name)
 (struct_declaration name: (identifier) @name)
 (interface_declaration name: (identifier) @name)
 (record_declaration name: (identifier) @name)
 (enum_declaration name: (identifier) @name)
 (enum_member_declaration name: (identifier) @name)
 (delegate_declaration name: (identifier) @name)
 (method_declaration name: (identifier) @name)
 (constructor_declaration name: (identifier) @name)
 (destructor_declaration name: (identifier) @name)
 (property_declaration name: (identifier) @name)
 (event_declaration name: (identifier) @name)
 (local_function_statement name: (identifier) @name)
 (namespace_declaration name: (_) @name)
 (file_scoped_namespace_declaration name: (_) @name)
 (field_declaration (variable_declaration (variable_declarator name: (identifier) @name)))
 (event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name)))] @definition
(record_declaration (parameter_list (parameter name: (identifier) @name) @definition))
(comment) @comment
[(string_literal) (verbatim_string_literal) (raw_string_literal) (interpolated_string_expression) (character_literal)] @string
(interpolation) @code
