[(function_definition name: [(identifier) (operator)] @name)
 (function_definition name: (field_expression value: (identifier) @receiver (identifier) @name .))
 (function_definition name: (function_object type: (identifier) @name))
 (short_function_definition name: [(identifier) (operator)] @name)
 (short_function_definition name: (field_expression value: (identifier) @receiver (identifier) @name .))
 (primitive_definition name: (_) @name)
 (macro_definition name: (_) @name)
 (struct_definition name: (_) @name)
 (abstract_definition name: (_) @name)
 (module_definition name: (_) @name)] @definition
(const_statement (assignment . (identifier) @name)) @definition
(source_file (assignment . (identifier) @name) @definition)
(struct_definition name: (_) (identifier) @name @definition)
(struct_definition (assignment . [(typed_expression . (identifier) @name) (identifier) @name]) @definition)
(const_statement (assignment . (tuple_expression (identifier) @name))) @definition
(global_statement (assignment . (identifier) @name)) @definition
(assignment . (identifier) @name (operator) . (function_expression)) @definition
(macrocall_expression (macro_identifier (identifier) @enum) (macro_argument_list (identifier) @name)
  (#eq? @enum "enum")) @definition
(struct_definition (typed_expression . (identifier) @name) @definition)
[(line_comment) (block_comment)] @comment
[(string_literal) (command_literal) (prefixed_string_literal)] @string
(string_interpolation) @code
