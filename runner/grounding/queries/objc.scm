(function_definition declarator: [
  (function_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))]) @definition
[(class_interface name: (identifier) @name)
 (class_implementation name: (identifier) @name)
 (category_interface name: (identifier) @name)
 (category_implementation name: (identifier) @name)
 (protocol_declaration name: (identifier) @name)
 (method_definition selector: [(identifier) @name (keyword_selector . (keyword_declarator keyword: (identifier) @name))])
 (method_declaration selector: [(identifier) @name (keyword_selector . (keyword_declarator keyword: (identifier) @name))])
 (preproc_def name: (identifier) @name)
 (preproc_function_def name: (identifier) @name)
 (struct_specifier name: (type_identifier) @name body: (_))
 (enumerator name: (identifier) @name)] @definition
(comment) @comment
[(string_literal) (char_literal) (string_expression)] @string
