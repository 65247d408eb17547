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
 (enum_specifier name: (type_identifier) @name body: (_))
 (property_declaration declarator: [(identifier) @name (pointer_declarator declarator: (identifier) @name)])
 (field_declaration declarator: [(field_identifier) @name (pointer_declarator declarator: (field_identifier) @name)])
 (type_definition declarator: [
   (type_identifier) @name
   (block_declarator declarator: (identifier) @name)
   (pointer_declarator declarator: (type_identifier) @name)])
 (enumerator name: (identifier) @name)] @definition
(translation_unit (declaration declarator: [
  (identifier) @name
  (pointer_declarator declarator: (identifier) @name)
  (init_declarator declarator: [(identifier) @name (pointer_declarator declarator: (identifier) @name)])
  (function_declarator declarator: (identifier) @name)]) @definition)
(comment) @comment
[(string_literal) (char_literal) (string_expression)] @string
