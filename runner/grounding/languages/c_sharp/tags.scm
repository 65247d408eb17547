[(class_declaration name: (identifier) @name)
 (struct_declaration name: (identifier) @name)
 (interface_declaration name: (identifier) @name)
 (record_declaration name: (identifier) @name)
 (enum_declaration name: (identifier) @name)
 (enum_member_declaration name: (identifier) @name)
 (delegate_declaration name: (identifier) @name)
 (constructor_declaration name: (identifier) @name)
 (method_declaration name: (identifier) @name)
 (property_declaration name: (identifier) @name)
 (event_declaration name: (identifier) @name)
 (local_function_statement name: (identifier) @name)
 (namespace_declaration name: (identifier) @name)
 (namespace_declaration name: (qualified_name) @qualified)
 (file_scoped_namespace_declaration name: (identifier) @name)
 (file_scoped_namespace_declaration name: (qualified_name) @qualified)
 (field_declaration (variable_declaration (variable_declarator name: (identifier) @name)))
 (event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name)))
 (using_directive name: (identifier) @name)
 (extern_alias_directive name: (identifier) @name)
 (preproc_define (preproc_arg) @name)
 (labeled_statement . (identifier) @name)] @definition
; void IShop.Open()
[(method_declaration (explicit_interface_specifier [(identifier) @receiver (generic_name (identifier) @receiver)]) name: (identifier) @name)
 (property_declaration (explicit_interface_specifier [(identifier) @receiver (generic_name (identifier) @receiver)]) name: (identifier) @name)
 (event_declaration (explicit_interface_specifier [(identifier) @receiver (generic_name (identifier) @receiver)]) name: (identifier) @name)] @definition
((destructor_declaration name: (identifier) @name) @definition (#set! prefix "~"))
((operator_declaration "operator" @at operator: _ @name) @definition (#set! prefix "operator"))
((operator_declaration "operator" @at operator: ["true" "false"] @name) @definition (#set! prefix "operator "))
((conversion_operator_declaration "operator" @at type: (_) @name) @definition (#set! prefix "operator "))
((indexer_declaration "this" @name) @definition (#set! name "this[]"))
((indexer_declaration "this" @name) @definition (#set! name "Item"))
; Parameters that a type keeps.
(record_declaration (parameter_list (parameter name: (identifier) @name) @definition))
(class_declaration (parameter_list (parameter name: (identifier) @name) @definition))
(struct_declaration (parameter_list (parameter name: (identifier) @name) @definition))
; A function's own: what is constant, and what holds a function. All of a program without a class.
(local_declaration_statement (modifier) (variable_declaration (variable_declarator name: (identifier) @name))) @definition
(local_declaration_statement (variable_declaration (variable_declarator name: (identifier) @name [(lambda_expression) (anonymous_method_expression)]))) @definition
(global_statement (local_declaration_statement (variable_declaration (variable_declarator name: (identifier) @name)))) @definition
(global_statement (local_declaration_statement (variable_declaration (variable_declarator (tuple_pattern name: (identifier) @name))))) @definition
(comment) @comment
[(string_literal) (verbatim_string_literal) (raw_string_literal) (interpolated_string_expression) (character_literal)] @string
(interpolation) @code
