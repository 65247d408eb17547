[(function_definition name: (_) @name)
 (short_function_definition name: (_) @name)
 (macro_definition name: (_) @name)
 (struct_definition name: (_) @name)
 (abstract_definition name: (_) @name)
 (module_definition name: (_) @name)] @definition
(const_statement (assignment . (identifier) @name)) @definition
(source_file (assignment . (identifier) @name) @definition)
(struct_definition (typed_expression . (identifier) @name) @definition)
[(line_comment) (block_comment)] @comment
[(string_literal) (command_literal) (prefixed_string_literal)] @string
(string_interpolation) @code
