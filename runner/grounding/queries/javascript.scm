[(function_declaration name: (identifier) @name)
 (generator_function_declaration name: (identifier) @name)
 (class_declaration name: (identifier) @name)
 (method_definition name: (_) @name)
 (field_definition property: (_) @name)
 (variable_declarator name: (identifier) @name)
 (function_expression name: (identifier) @name)
 (class name: (identifier) @name)
 (pair key: [(property_identifier) (string)] @name value: [(function_expression) (arrow_function)])] @definition
(variable_declarator name: [(object_pattern) (array_pattern)] @name) @definition
(labeled_statement label: (statement_identifier) @reactive
  body: (expression_statement (assignment_expression left: (identifier) @name))
  (#eq? @reactive "$")) @definition
(pair key: (property_identifier) @name) @definition
(assignment_expression left: (member_expression
  object: [(identifier) @receiver (member_expression object: (identifier) @receiver property: (property_identifier) @prototype) (this)]
  property: [(property_identifier) (private_property_identifier)] @name)) @definition
(comment) @comment
[(string) (template_string) (regex) (jsx_text)] @string
(template_substitution) @code
(decorator) @header
