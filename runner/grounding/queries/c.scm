(function_definition declarator: (_) @declarator) @definition
; Prototypes and variables of the file; what looks like either in a function is its own.
(declaration declarator: (_) @declarator) @variable
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
