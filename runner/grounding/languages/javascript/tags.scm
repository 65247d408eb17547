[(function_declaration name: (identifier) @name)
 (generator_function_declaration name: (identifier) @name)
 (function_expression name: (identifier) @name)
 (generator_function name: (identifier) @name)
 (class_declaration name: (identifier) @name)
 (class name: (identifier) @name)
 (method_definition name: [(property_identifier) (private_property_identifier) (string) (number)] @name)
 (field_definition property: [(property_identifier) (private_property_identifier) (string) (number)] @name)
 (variable_declarator name: [(identifier) (object_pattern) (array_pattern)] @name)
 (pair key: [(property_identifier) (string)] @name)
 (import_specifier alias: (identifier) @name)
 (namespace_import (identifier) @name)
 (export_specifier alias: (_) @name)
 (namespace_export (_) @name)
 (export_statement "default" @name)
 (labeled_statement label: (statement_identifier) @name)] @definition
; [Symbol.iterator]() {}, ["quoted"]: 1
[(method_definition name: (computed_property_name [(string) @name (member_expression object: (identifier) @receiver property: (property_identifier) @name)]))
 (field_definition property: (computed_property_name [(string) @name (member_expression object: (identifier) @receiver property: (property_identifier) @name)]))
 (pair key: (computed_property_name [(string) @name (member_expression object: (identifier) @receiver property: (property_identifier) @name)]))] @definition
; Svelte's `$: total = …`
(labeled_statement label: (statement_identifier) @reactive
  body: (expression_statement (assignment_expression left: (identifier) @name))
  (#eq? @reactive "$")) @definition
; this.size = 1, exports.open = …, Shop.prototype.open = …
(assignment_expression left: (member_expression object: (this) property: [(property_identifier) (private_property_identifier)] @name)) @definition
(assignment_expression left: (member_expression
  object: (member_expression object: (identifier) @receiver property: (property_identifier) @receiver @_of)
  property: (property_identifier) @name (#any-of? @_of "exports" "prototype"))) @definition
; Of another object only a function, or outside of every function: `response.status = 404` is a use.
(assignment_expression
  left: (member_expression object: (identifier) @receiver property: (property_identifier) @name)
  right: [(function_expression) (generator_function) (arrow_function) (class)]) @definition
(assignment_expression left: (member_expression object: (identifier) @receiver property: (property_identifier) @name)) @variable
(statement_block) @closed
(comment) @comment
[(string) (template_string) (regex) (jsx_text)] @string
(template_substitution) @code
(decorator) @header
