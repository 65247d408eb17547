[(function_declaration name: (identifier) @name)
 (generator_function_declaration name: (identifier) @name)
 (function_signature name: (identifier) @name)
 (function_expression name: (identifier) @name)
 (generator_function name: (identifier) @name)
 (class_declaration name: (type_identifier) @name)
 (abstract_class_declaration name: (type_identifier) @name)
 (class name: (type_identifier) @name)
 (interface_declaration name: (type_identifier) @name)
 (enum_declaration name: (identifier) @name)
 (type_alias_declaration name: (type_identifier) @name)
 (module name: [(identifier) (string)] @name)
 (module name: (nested_identifier) @qualified)
 (internal_module name: [(identifier) (string)] @name)
 (internal_module name: (nested_identifier) @qualified)
 (method_definition name: [(property_identifier) (private_property_identifier) (string) (number)] @name)
 (method_signature name: [(property_identifier) (private_property_identifier) (string) (number)] @name)
 (abstract_method_signature name: [(property_identifier) (string)] @name)
 (property_signature name: [(property_identifier) (private_property_identifier) (string) (number)] @name)
 (public_field_definition name: [(property_identifier) (private_property_identifier) (string) (number)] @name)
 (index_signature name: (identifier) @name)
 (variable_declarator name: [(identifier) (object_pattern) (array_pattern)] @name)
 (enum_assignment name: [(property_identifier) (string)] @name)
 (pair key: [(property_identifier) (string)] @name)
 (import_specifier alias: (identifier) @name)
 (namespace_import (identifier) @name)
 (import_require_clause . (identifier) @name)
 (import_alias . (identifier) @name)
 (export_specifier alias: (_) @name)
 (namespace_export (_) @name)
 (export_statement "default" @name)
 (export_statement "as" "namespace" . (identifier) @name)
 (labeled_statement label: (statement_identifier) @name)] @definition
; [Symbol.iterator]() {}, ["quoted"]: 1
[(method_definition name: (computed_property_name [(string) @name (member_expression object: (identifier) @receiver property: (property_identifier) @name)]))
 (method_signature name: (computed_property_name [(string) @name (member_expression object: (identifier) @receiver property: (property_identifier) @name)]))
 (property_signature name: (computed_property_name [(string) @name (member_expression object: (identifier) @receiver property: (property_identifier) @name)]))
 (public_field_definition name: (computed_property_name [(string) @name (member_expression object: (identifier) @receiver property: (property_identifier) @name)]))
 (pair key: (computed_property_name [(string) @name (member_expression object: (identifier) @receiver property: (property_identifier) @name)]))] @definition
(enum_body [(property_identifier) (string)] @name @definition)
; A constructor's parameters that are fields.
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @definition
(optional_parameter (accessibility_modifier) pattern: (identifier) @name) @definition
(required_parameter "readonly" pattern: (identifier) @name) @definition
(optional_parameter "readonly" pattern: (identifier) @name) @definition
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
[(string) (template_string) (regex)] @string
(template_substitution) @code
(decorator) @header
