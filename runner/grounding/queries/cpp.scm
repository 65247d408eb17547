(function_definition declarator: [
  (function_declarator declarator: [(identifier) (field_identifier) (destructor_name) (operator_name)] @name)
  (pointer_declarator declarator: (function_declarator declarator: [(identifier) (field_identifier)] @name))
  (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (operator_name)] @name))]) @definition
(function_definition declarator: [
  (function_declarator declarator: (qualified_identifier) @qualified)
  (pointer_declarator declarator: (function_declarator declarator: (qualified_identifier) @qualified))
  (reference_declarator (function_declarator declarator: (qualified_identifier) @qualified))]) @definition
(function_definition (operator_cast) @name) @definition
(declaration declarator: [
  (function_declarator declarator: [(identifier) (destructor_name)] @name)
  (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
  (reference_declarator (function_declarator declarator: (identifier) @name))]) @definition
([(translation_unit) (declaration_list)] (declaration declarator: [
  (identifier) @name
  (init_declarator declarator: (identifier) @name)
  (init_declarator declarator: (array_declarator declarator: (identifier) @name))
  (pointer_declarator declarator: (identifier) @name)
  (init_declarator declarator: (pointer_declarator declarator: (identifier) @name))
  (array_declarator declarator: (identifier) @name)]) @definition)
(declaration declarator: (init_declarator declarator: (qualified_identifier) @qualified)) @definition
(declaration declarator: (qualified_identifier) @qualified) @definition
[(class_specifier name: (type_identifier) @name body: (_))
 (struct_specifier name: (type_identifier) @name body: (_))
 (union_specifier name: (type_identifier) @name body: (_))
 (enum_specifier name: (type_identifier) @name body: (_))
 (class_specifier name: (template_type name: (type_identifier) @name) body: (_))
 (struct_specifier name: (template_type name: (type_identifier) @name) body: (_))
 (namespace_definition name: (_) @name)
 (enumerator name: (identifier) @name)
 (alias_declaration name: (type_identifier) @name)
 (concept_definition name: (identifier) @name)
 (preproc_def name: (identifier) @name)
 (preproc_function_def name: (identifier) @name)] @definition
(type_definition declarator: [(type_identifier) @name (pointer_declarator declarator: (type_identifier) @name)]) @definition
(field_declaration declarator: [
  (field_identifier) @name
  (pointer_declarator declarator: (field_identifier) @name)
  (reference_declarator (field_identifier) @name)
  (array_declarator declarator: (field_identifier) @name)
  (function_declarator declarator: [(field_identifier) (operator_name) (destructor_name)] @name)
  (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name))
  (reference_declarator (function_declarator declarator: [(field_identifier) (operator_name)] @name))]) @definition
(template_declaration [
  (function_definition declarator: (function_declarator declarator: [(identifier) (field_identifier)] @name))
  (class_specifier name: (type_identifier) @name body: (_))
  (struct_specifier name: (type_identifier) @name body: (_))
  (alias_declaration name: (type_identifier) @name)
  (concept_definition name: (identifier) @name)]) @definition
(comment) @comment
[(string_literal) (char_literal) (raw_string_literal) (system_lib_string)] @string
