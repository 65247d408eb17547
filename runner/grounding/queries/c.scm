(function_definition declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  (function_declarator declarator: (parenthesized_declarator (identifier) @name))]) @definition
(declaration declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))]) @definition
(translation_unit (declaration declarator: [
  (identifier) @name
  (init_declarator declarator: (identifier) @name)
  (init_declarator declarator: (array_declarator declarator: (identifier) @name))
  (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (identifier) @name)
  (array_declarator declarator: (identifier) @name)]) @definition)
[(struct_specifier name: (type_identifier) @name body: (_))
 (union_specifier name: (type_identifier) @name body: (_))
 (enum_specifier name: (type_identifier) @name body: (_))
 (enumerator name: (identifier) @name)
 (preproc_def name: (identifier) @name)
 (preproc_function_def name: (identifier) @name)] @definition
(type_definition declarator: [
  (type_identifier) @name
  (pointer_declarator declarator: (type_identifier) @name)
  (array_declarator declarator: (type_identifier) @name)
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))]) @definition
(field_declaration declarator: [
  (field_identifier) @name
  (pointer_declarator declarator: (field_identifier) @name)
  (pointer_declarator declarator: (pointer_declarator declarator: (field_identifier) @name))
  (array_declarator declarator: (field_identifier) @name)
  (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name)))]) @definition
(comment) @comment
[(string_literal) (char_literal) (system_lib_string)] @string
