[(function_declaration name: (identifier) @name)
 (generator_function_declaration name: (identifier) @name)
 (function_signature name: (identifier) @name)
 (class_declaration name: (type_identifier) @name)
 (abstract_class_declaration name: (type_identifier) @name)
 (interface_declaration name: (type_identifier) @name)
 (enum_declaration name: (identifier) @name)
 (type_alias_declaration name: (type_identifier) @name)
 (module name: (_) @name)
 (internal_module name: (_) @name)
 (method_definition name: (_) @name)
 (method_signature name: (_) @name)
 (abstract_method_signature name: (_) @name)
 (property_signature name: (_) @name)
 (public_field_definition name: (_) @name)
 (variable_declarator name: (identifier) @name)
 (function_expression name: (identifier) @name)
 (enum_assignment name: (_) @name)] @definition
(enum_body (property_identifier) @name @definition)
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @definition
(variable_declarator name: [(object_pattern) (array_pattern)] @name) @definition
(labeled_statement label: (statement_identifier) @reactive
  body: (expression_statement (assignment_expression left: (identifier) @name))
  (#eq? @reactive "$")) @definition
(pair key: (property_identifier) @name) @definition
(assignment_expression left: (member_expression
  object: [(identifier) @receiver (member_expression object: (identifier) @receiver property: (property_identifier) @prototype) (this)]
  property: [(property_identifier) (private_property_identifier)] @name)) @definition
(comment) @comment
[(string) (template_string) (regex)] @string
(template_substitution) @code
(decorator) @header
