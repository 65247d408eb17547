(function_definition declarator: (_) @declarator) @definition
; Prototypes and variables of the file; what looks like either in a function is its own.
(declaration declarator: (_) @declarator) @variable
; `clock_t (*now)(void) = NULL;` reads as a call where the type is no keyword.
(expression_statement (assignment_expression left: (call_expression
  function: (call_expression arguments: (argument_list . (pointer_expression argument: (identifier) @name) .))))) @variable
(expression_statement (call_expression
  function: (call_expression arguments: (argument_list . (pointer_expression argument: (identifier) @name) .)))) @variable
(compound_statement) @closed
(field_declaration declarator: (_) @declarator) @definition
(type_definition declarator: (_) @declarator) @definition
[(struct_specifier name: (type_identifier) @name body: (_))
 (union_specifier name: (type_identifier) @name body: (_))
 (enum_specifier name: (type_identifier) @name body: (_))
 (enumerator name: (identifier) @name)
 (preproc_def name: (identifier) @name)
 (preproc_function_def name: (identifier) @name)
 (labeled_statement label: (statement_identifier) @name)] @definition
(comment) @comment
[(string_literal) (char_literal) (system_lib_string)] @string
