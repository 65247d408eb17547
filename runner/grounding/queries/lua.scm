(function_definition_statement name: (_) @qualified) @definition
(local_function_definition_statement name: (identifier) @name) @definition
(local_variable_declaration (variable_list (variable name: (identifier) @name))) @definition
(variable_assignment (variable_list (variable name: (identifier) @name))) @definition
(variable_assignment (variable_list (variable field: (identifier) @name))) @definition
(field key: (identifier) @name) @definition
(comment) @comment
(string) @string
