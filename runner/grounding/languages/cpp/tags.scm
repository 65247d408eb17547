(function_definition declarator: (_) @declarator) @definition
; Prototypes and variables of the file or a namespace; what looks like either in a function is its own.
(declaration declarator: (_) @declarator) @variable
(declaration declarator: (init_declarator declarator: (structured_binding_declarator) @name)) @variable
(declaration declarator: (init_declarator declarator: (_) @declarator value: (lambda_expression))) @definition
(compound_statement) @closed
(field_declaration_list) @opened
(field_declaration declarator: (_) @declarator) @definition
(type_definition declarator: (_) @declarator) @definition
[(class_specifier name: (type_identifier) @name body: (_))
 (struct_specifier name: (type_identifier) @name body: (_))
 (union_specifier name: (type_identifier) @name body: (_))
 (enum_specifier name: (type_identifier) @name body: (_))
 (class_specifier name: (template_type name: (type_identifier) @name) body: (_))
 (struct_specifier name: (template_type name: (type_identifier) @name) body: (_))
 (class_specifier name: (qualified_identifier) @declarator body: (_))
 (struct_specifier name: (qualified_identifier) @declarator body: (_))
 (namespace_definition name: (namespace_identifier) @name)
 (namespace_definition name: (nested_namespace_specifier) @qualified)
 (namespace_alias_definition name: (_) @name)
 (enumerator name: (identifier) @name)
 (alias_declaration name: (type_identifier) @name)
 (concept_definition name: (identifier) @name)
 (preproc_def name: (identifier) @name)
 (preproc_function_def name: (identifier) @name)
 (labeled_statement label: (statement_identifier) @name)] @definition
(template_declaration [
  (function_definition declarator: (_) @declarator)
  (class_specifier name: (type_identifier) @name body: (_))
  (class_specifier name: (template_type name: (type_identifier) @name) body: (_))
  (struct_specifier name: (type_identifier) @name body: (_))
  (struct_specifier name: (template_type name: (type_identifier) @name) body: (_))
  (field_declaration declarator: (_) @declarator)
  (alias_declaration name: (type_identifier) @name)
  (concept_definition name: (identifier) @name)
  (template_declaration (function_definition declarator: (_) @declarator))]) @definition
(template_declaration (declaration declarator: (_) @declarator)) @variable
; TEST_F(ShopTest, Opens) { … }
(function_definition !type declarator: (function_declarator
  declarator: (identifier) @_macro
  parameters: (parameter_list
    . (parameter_declaration type: (type_identifier) @receiver !declarator)
    . (parameter_declaration type: (type_identifier) @name !declarator) .))
  (#match? @_macro "^[A-Z][A-Z0-9_]+$")) @definition
(comment) @comment
[(string_literal) (char_literal) (raw_string_literal) (system_lib_string)] @string
